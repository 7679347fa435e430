"""From a small source with its quanta to a Q-model, its fidelity and its traces."""

import numpy as np
import pytest
import torch

from quantascope.discovery.discover import read_factors
from quantascope.models import decode, predict
from quantascope.models.predictions import sampler
from quantascope.qmodel.recovered import fit as recovered_learner
from quantascope.qmodel.recovered.config import Pool
from quantascope.qmodel.recovered.fidelity import (
    activity,
    every_event,
    fidelity,
    gate_fidelity,
    summary,
    through_time,
)
from quantascope.qmodel.recovered.fit import fit_config, fit_run, read_fit
from quantascope.qmodel.recovered.replay import CheckpointReplay
from quantascope.qmodel.recovered.saved import QModel
from quantascope.qmodel.recovered.trace import trace
from quantascope.runs.errors import DamagedArtefact, Diverged, InvalidConfig
from quantascope.sources.trained import train_source
from quantascope.tasks.events import PAD, Events
from quantascope.tasks.number_naming import PANELS, VOCABULARY, naming_events, prompt
from quantascope.tasks.number_naming.task import pool_numbers
from quantascope.training import Pace, train

END = VOCABULARY.index("EOS")
LONGEST = 10
"""The longest name, with its end, has so many words."""

SHORT = {"updates": 12, "parts": 4}


@pytest.fixture(scope="module")
def source(tiny_source):
    return tiny_source


@pytest.fixture(scope="module")
def fitted(tiny_fit):
    return tiny_fit


def test_existence_is_the_share_of_a_curve_before_a_step(source):
    factors, _ = read_factors(source)
    replays = CheckpointReplay.of(source, factors)
    np.testing.assert_allclose(replays.existence(0), 0)
    np.testing.assert_allclose(replays.existence(24), 1, rtol=1e-6)
    np.testing.assert_allclose(replays.existence(4), factors.cumulative[:, 0], rtol=1e-6)
    np.testing.assert_allclose(replays.existence(6), factors.cumulative[:, :2].mean(1), rtol=1e-6)


def test_replays_are_what_the_source_does_at_its_checkpoints(source):
    replays = CheckpointReplay.of(source, read_factors(source)[0])
    parts = replays.all(Pool(), parts=2, seed=0)
    assert len(parts) == 3 * 2
    model = source.model(12)
    done, (first, second) = model.run(source.events()), parts[2:4]
    order = torch.tensor([int(i) for part in range(2) for i in range(part, 300, 2)])
    rows = torch.cat([(source.events().example == example).nonzero().flatten() for example in order])
    both = torch.cat([first.log_probability, second.log_probability])
    torch.testing.assert_close(both, done.logits.log_softmax(-1)[rows], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(torch.cat([first.supports, second.supports], 1), replays.supports[:, rows])
    assert first.labelled.all()


@pytest.mark.parametrize("by", ["own", "final"])
def test_inputs_of_the_pool_are_continued_by_the_source_and_have_no_labels(source, by):
    replays = CheckpointReplay.of(source, read_factors(source)[0])
    (first, *_) = replays.all(Pool(numbers=9, inputs=5, continued_by=by), parts=1, seed=0)
    assert len(first.events) == 305
    assert first.labelled.sum() == source.events().count
    numbers = pool_numbers(9, seed=0)[:5]
    speaker = source.model(1 if by == "own" else None)
    said = decode(speaker, [prompt(n) for n in numbers], end=END, limit=LONGEST, padding=PAD)
    assert first.events.target[first.events.example >= 300].tolist() == [t or END for out in said for t in out]


def test_inputs_of_the_pool_may_be_continued_by_sampled_words(source):
    replays = CheckpointReplay.of(source, read_factors(source)[0])
    pools = [Pool(numbers=9, inputs=5, continued_by=by) for by in ("sampled", "sampled", "final")]
    said = [replays.all(pool, parts=1, seed=0)[0].events for pool in pools]
    assert torch.equal(said[0].tokens, said[1].tokens)
    assert not torch.equal(said[0].tokens, said[2].tokens)


def test_a_sampler_draws_words_as_often_as_the_model_says():
    probability = torch.tensor([0.1, 0.2, 0.7])
    draw = sampler(lambda events: probability.log().expand(events.count, 3), seed=0)
    drawn = torch.bincount(draw(Events.of([[1]] * 4000, [[2]] * 4000)).argmax(-1), minlength=3) / 4000
    torch.testing.assert_close(drawn, probability, atol=0.03, rtol=0)


def test_the_pool_lies_outside_every_panel_and_is_even_over_lengths():
    numbers = pool_numbers(30_000, seed=0)
    assert not set(numbers) & set().union(*(panel() for panel in PANELS.values()))
    assert np.bincount([len(str(n)) for n in numbers]).tolist() == [0, 0, 0, 0, 10_000, 10_000, 10_000]
    assert len({n for n in numbers if n > 9999}) == 20_000


def test_a_fit_is_read_back_and_lowers_the_loss(source, fitted):
    again = read_fit(source, "faithful")
    torch.testing.assert_close(again.model(source.events()), fitted.model(source.events()))
    before = fit_run(source, fit_config(source, "faithful", {**SHORT, "updates": 12}))
    assert before.path == fitted.path
    alone = QModel.load(fitted.path)
    assert alone.vocabulary == VOCABULARY


def test_a_fit_that_is_killed_resumes_to_the_same_bits(source, fitted, tmp_path, monkeypatch):
    factors, _ = read_factors(source)

    def dying(*args, objective, **kwargs):
        def until_six(model, batch, step):
            if step == 6:
                raise KeyboardInterrupt
            return objective(model, batch, step)

        return train(*args, objective=until_six, **kwargs, pace=Pace(save=0.0))

    with monkeypatch.context() as patched:
        patched.setattr(recovered_learner, "train", dying)
        with pytest.raises(KeyboardInterrupt):
            recovered_learner.fit_recovered(fitted.config, source, factors, tmp_path / "fit")
    assert not (tmp_path / "fit" / "qmodel.safetensors").exists()
    again = recovered_learner.fit_recovered(fitted.config, source, factors, tmp_path / "fit")
    for name, value in fitted.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_fidelity_counts_what_both_models_say(fitted):
    found = fidelity(fitted, "causal")
    events = found.source.events
    theirs, ours = predict(fitted.source.model(), events).token, predict(fitted.model, events).token
    assert found.agreement == pytest.approx(float((theirs == ours).double().mean()))
    right = found.source.correct.double()
    parts = [found.agreement_where_right, found.agreement_where_wrong]
    assert np.nansum(parts * np.array([right.mean(), 1 - right.mean()])) == pytest.approx(found.agreement)
    assert found.active_writers == found.activity.writers.sum() / events.count
    assert found.activity.owner.tolist() == [q for q in range(len(fitted.model.layers)) for _ in range(3)]
    assert not (found.activity.writers & ~found.activity.gates[found.activity.owner]).any()
    assert summary(fitted, "causal")["agreement"] == found.agreement
    assert 0 <= gate_fidelity(fitted) <= 1


@torch.no_grad()
def test_agreement_through_time_ends_with_that_of_the_finished_source(fitted):
    table = through_time(fitted)
    assert table["step"].to_list() == [1, 12, 24]
    agree = fidelity(fitted, "causal").agree
    kept = torch.isin(fidelity(fitted, "causal").source.events.example, torch.arange(0, 512, 4))
    assert table["agreement"][-1] == pytest.approx(float(agree[kept].double().mean()))
    events = every_event(fitted.source, "causal", 4)
    theirs, ours = fitted.source.model()(events).softmax(-1), fitted.model(events).softmax(-1)
    distance = (theirs - ours).abs().sum(-1).mean() / 2
    assert table["overlap"][-1] == pytest.approx(1 - float(distance), abs=1e-5)
    best, second = theirs.sort(-1, descending=True).values[:, :2].T
    decided = best - second >= 0.1
    same = (theirs.argmax(-1) == ours.argmax(-1))[decided]
    assert table["decided"][-1] == pytest.approx(float(same.double().mean()), nan_ok=True)
    assert through_time(fitted).equals(table)


def test_a_trace_tells_what_was_executed(fitted):
    told = trace(fitted, "346", {"L0.Q0": "a description"})
    model = fitted.model
    (output,) = decode(model, [prompt(346)], end=END, limit=LONGEST, padding=PAD)
    assert told.output == tuple(VOCABULARY[token] for token in output)
    assert told.right == ("three", "hundred", "forty", "six", "EOS")
    assert told.to_json()["input"] == "346"
    events = naming_events([346])
    alone = activity(model, events)
    assert [unit.name for unit in told.steps[0].gates] == [
        name for name, active in zip(model.names, alone.gates[:, 0], strict=True) if active
    ]
    for step in told.steps:
        owners = {unit.name for unit in step.gates}
        assert all(unit.name.rpartition(".")[0] in owners for unit in step.writers)
        assert all(unit.activity > model.config.threshold for unit in step.writers)
        assert {unit.says for unit in step.gates if unit.name == "L0.Q0"} <= {"a description"}
        assert step.top[0][0] == step.token
        assert step.source_top[0][0] == step.source_token


@pytest.mark.parametrize("number", ["0", "-3", "1000000"])
def test_numbers_without_a_name_have_no_trace(fitted, number):
    with pytest.raises(InvalidConfig, match="give a number from 1 to 999,999"):
        trace(fitted, number)


def test_what_is_missing_names_the_command_that_makes_it(tmp_path, source, tiny_config):
    bare = train_source(
        tiny_config.model_copy(update={"steps": 2, "intervals": 2, "replays": 0}), tmp_path / "bare"
    )
    with pytest.raises(DamagedArtefact, match="has no factors; find them with quantascope discover"):
        fit_config(bare, "faithful", {})
    with pytest.raises(DamagedArtefact, match="has no distilled Q-model; make it with quantascope fit"):
        read_fit(source, "distilled")
    factors, _ = read_factors(source)
    with pytest.raises(InvalidConfig, match="has no checkpoints to replay; train it again with --set replays=200"):
        CheckpointReplay.of(bare, factors)
    nothing = factors.chosen(np.zeros(len(factors), dtype=bool))
    with pytest.raises(InvalidConfig, match=r"has no factors; lower the threshold"):
        CheckpointReplay.of(source, nothing)


def test_a_fit_that_diverges_says_so(source, tmp_path):
    factors, _ = read_factors(source)
    wild = fit_config(source, "faithful", {**SHORT, "learning_rate": 1e6})
    with pytest.raises(Diverged, match="training diverged at step"):
        recovered_learner.fit_recovered(wild, source, factors, tmp_path / "wild")


def test_an_interface_is_that_of_its_source(source):
    model = source.model()
    for name, value in model.interface().state_dict().items():
        assert torch.equal(value, model.state_dict()[name])
