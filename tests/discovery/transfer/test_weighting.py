"""Halves and weights."""

import numpy as np
import pytest

from quantascope.discovery.transfer.weighting import changed_weights, halves, predicted_shift
from quantascope.runs.errors import InvalidConfig


@pytest.mark.parametrize("change", ["raised", "lowered"])
def test_the_total_weight_is_kept_and_the_taught_weigh_three_times_more_or_less(change, rng):
    taught = rng.random(50) < 0.3
    weights = changed_weights(taught, change)
    assert weights.mean() == pytest.approx(1)
    assert weights[taught] == pytest.approx(weights[~taught][0] * (3 if change == "raised" else 1 / 3))


def test_at_fixed_weight_outside_only_the_taught_change(rng):
    taught = rng.random(50) < 0.3
    assert (changed_weights(taught, "outside") == np.where(taught, 3, 1)).all()


def test_halves_are_apart_make_up_the_set_and_cut_no_input(rng):
    members, group = rng.random(200) < 0.4, np.arange(200) // 5
    cut = halves(members, group, rng)
    assert not (cut.taught & cut.asked).any()
    assert (cut.members == members).all()
    assert not set(group[cut.taught]) & set(group[cut.asked])
    inputs = len(set(group[members]))
    assert len(set(group[cut.taught])) == inputs // 2


def test_a_set_of_one_input_has_no_halves(rng):
    with pytest.raises(InvalidConfig, match="2 events in 1 group"):
        halves(np.array([True, True, False]), np.array([0, 0, 1]), rng)


def test_the_predicted_shift_of_a_set_of_which_half_is_raised_follows_from_demand_alone():
    members = np.arange(12) < 4
    taught = np.arange(12) < 2
    # Two of twelve events at weight 3: the others weigh 12/16 each, and the set's mean weight is twice that.
    assert predicted_shift(changed_weights(taught, "raised"), members) == pytest.approx(-np.log(2 * 12 / 16))
    assert predicted_shift(changed_weights(taught, "raised"), ~members) == pytest.approx(-np.log(12 / 16))
    assert predicted_shift(changed_weights(taught, "outside"), members) == pytest.approx(-np.log(2))
