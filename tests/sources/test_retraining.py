"""Training again from the same start."""

import numpy as np
import pytest

from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.sources.retraining import retrainable_source


def test_even_weights_give_the_source_again(tiny_source, tiny_config, tmp_path):
    retrainable = retrainable_source(tiny_config)
    count = tiny_source.events().count
    curves = retrainable.retrain(np.ones(count), tmp_path / "even")
    assert curves.steps.tolist() == tiny_source.steps
    assert curves.losses.mean(0)[:-1] == pytest.approx(tiny_source.step_loss[curves.steps[:-1]], rel=1e-5)


def test_events_of_weight_zero_are_not_learned(tiny_source, tiny_config, tmp_path):
    retrainable = retrainable_source(tiny_config)
    target = tiny_source.events().target.numpy()
    common = target == np.bincount(target).argmax()
    even = retrainable.retrain(np.ones(len(target)), tmp_path / "even")
    without = retrainable.retrain(np.where(common, 0.0, 1.0), tmp_path / "without")
    assert without.losses[common, -1].mean() > even.losses[common, -1].mean() + 0.1
    assert (without.losses[:, 0] == even.losses[:, 0]).all()


def test_a_retraining_is_read_again_and_not_taken_for_another(tiny_config, tiny_source, tmp_path):
    retrainable, count = retrainable_source(tiny_config), tiny_source.events().count
    first = retrainable.retrain(np.ones(count), tmp_path / "run")
    assert (retrainable.retrain(np.ones(count), tmp_path / "run").losses == first.losses).all()
    with pytest.raises(RunMismatch):
        retrainable.retrain(np.full(count, 2.0), tmp_path / "run")


def test_weights_of_other_events_are_refused(tiny_config, tmp_path):
    with pytest.raises(InvalidConfig, match="3 weights are given for 1651 events"):
        retrainable_source(tiny_config).retrain(np.ones(3), tmp_path / "run")


def test_unequal_intervals_are_refused(tiny_config):
    with pytest.raises(InvalidConfig, match="needs spacing=equal, not logarithmic"):
        retrainable_source(tiny_config.replace({"spacing": "logarithmic"}))


@pytest.mark.parametrize("change", [{"batch": 4}, {"measured_on": "evaluation"}])
def test_a_source_of_minibatches_or_measured_elsewhere_is_refused(tiny_config, change):
    with pytest.raises(InvalidConfig, match="learns all its examples at once"):
        retrainable_source(tiny_config.replace(change))


def test_intervals_that_do_not_divide_the_steps_are_refused(tiny_config):
    with pytest.raises(InvalidConfig, match="24 steps are not divisible into 7 intervals"):
        retrainable_source(tiny_config.model_copy(update={"intervals": 7}))
