"""The block form, interventions and necessity of channels against a loop, a Transformer and closed forms."""

import math

import numpy as np
import pytest
import torch

from quantascope.discovery.discover import read_factors
from quantascope.models import Transformer, TransformerConfig
from quantascope.models.grid import grid_of
from quantascope.models.transformer import Block
from quantascope.qmodel.recovered import fit
from quantascope.qmodel.recovered.block_form import BlockForm
from quantascope.qmodel.recovered.config import FIT_PRESETS
from quantascope.qmodel.recovered.fit import RecoveredRun, fit_config, fit_recovered
from quantascope.qmodel.recovered.intervene import intervene
from quantascope.qmodel.recovered.intervened import (
    IntervenedObjective,
    InterventionTerm,
    drawn_surgery,
    intervened_divergence,
)
from quantascope.qmodel.recovered.interventions import ablate_quantum
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint, divergence
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.qmodel.recovered.necessity import NecessaryChannels, Necessity, sender_necessity
from quantascope.qmodel.recovered.preview import preview
from quantascope.qmodel.recovered.saved import QModel
from quantascope.qmodel.recovered.source_effects import compare_quanta
from quantascope.qmodel.recovered.trace import trace
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import VOCABULARY, naming_events
from quantascope.training import Pace, train

LAYERS = (0, 0, 1, 1, 2)
WIDTH = 8


@pytest.fixture(scope="module")
def source() -> Transformer:
    return Transformer(
        vocabulary=44, positions=20, config=TransformerConfig(width=WIDTH, hidden=16), seed=1
    ).eval()


@pytest.fixture(scope="module")
def events() -> Events:
    return naming_events([7, 20, 346, 800, 4321, 50_007, 61, 922])


def randomised(model: RecoveredQModel, seed: int = 5) -> RecoveredQModel:
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.startswith("interface"):
                parameter.add_(0.5 * torch.randn(parameter.shape, generator=draw))
    return model


def build(source: Transformer, **changes) -> RecoveredQModel:
    config = RecoveredConfig(form="block", rank=4, value=6, **changes)
    return randomised(
        RecoveredQModel(layers=LAYERS, blocks=3, interface=source.interface(), config=config, seed=3)
    )


def form_of(model: RecoveredQModel) -> BlockForm:
    assert model.block_form is not None
    return model.block_form


def normed(row: torch.Tensor) -> torch.Tensor:
    return (row - row.mean(-1, keepdim=True)) / (row.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()


def executed_by_hand(model: RecoveredQModel, events: Events, existence: torch.Tensor) -> torch.Tensor:
    """Messages of every quantum at every token: one quantum, one example and one token at a time."""
    form, rank, start = form_of(model), model.config.rank, model.interface.embed(grid_of(events))
    sent = []
    for quantum, layer in enumerate(model.layers):
        parents = [parent for parent in range(quantum) if model.channels.open[quantum, parent]]
        h = start + sum(sent[parent] for parent in parents)
        mates = [q for q, at in enumerate(model.layers) if at == layer]
        sharper = math.exp(float(form.sharpness[layer]) * (1 - float(existence[mates].mean())))
        message, first = torch.zeros_like(start), 0
        for length in events.length.tolist():
            own = normed(h[first : first + length]) @ model.read[layer] + form.bias[layer]
            query, key, value = sharper * own[:, :rank], own[:, rank : 2 * rank], own[:, 2 * rank :]
            for t in range(length):
                read = (key[: t + 1] @ query[t] / math.sqrt(rank)).softmax(0) @ value[: t + 1]
                seen = normed(h[first + t] + read @ form.out[layer])
                if seen @ model.gate[quantum, :, 0] + model.gate_bias[quantum, 0, 0] <= 0:
                    continue
                message[first + t] += (read * form.passed[quantum, 0]) @ form.out[layer]
                for writer in range(model.config.writers):
                    s = seen @ model.score[quantum, :, writer] + model.score_bias[quantum, 0, writer]
                    if s > model.config.threshold:
                        v = model.direction[quantum, writer]
                        message[first + t] += s * v / v.norm()
            first += length
        sent.append(existence[quantum] * message)
    return torch.stack(sent)


@torch.no_grad()
def test_the_block_form_does_what_a_loop_over_quanta_and_tokens_does(source, events):
    model, existence = build(source), torch.rand(5, generator=torch.Generator().manual_seed(0))
    done = model.run(events, existence=existence)
    by_hand = executed_by_hand(model, events, existence)
    assert 0 < done.active.mean() < 1
    assert 0 < done.opened.mean() < 1
    torch.testing.assert_close(done.message, by_hand, atol=1e-5, rtol=1e-4)


def copied(source: Transformer) -> RecoveredQModel:
    """One open quantum a layer that passes on all that it reads: the source, if its MLPs write nothing."""
    config = RecoveredConfig(form="block", rank=WIDTH, value=WIDTH, writers=1)
    model = RecoveredQModel(layers=(0, 1, 2), blocks=3, interface=source.interface(), config=config, seed=0)
    form = form_of(model)
    with torch.no_grad():
        model.gate_bias.fill_(100.0)
        model.score_bias.fill_(-100.0)
        form.passed.fill_(1.0)
        for layer, block in enumerate(source.blocks):
            assert isinstance(block, Block)
            model.read[layer] = torch.cat([block.query.weight, block.key_value.weight]).T
            form.bias[layer] = torch.cat([block.query.bias, block.key_value.bias])
            form.out[layer] = block.out.weight.T
    return model


@pytest.fixture(scope="module")
def attention_alone() -> Transformer:
    network = Transformer(vocabulary=44, positions=20, config=TransformerConfig(width=WIDTH, hidden=16), seed=2)
    with torch.no_grad():
        for block in network.blocks:
            assert isinstance(block, Block)
            for parameter in (block.down.weight, block.down.bias, block.out.bias):
                parameter.zero_()
    return network.eval()


def test_quanta_that_receive_the_same_messages_share_a_stream_and_its_gradient(source, events):
    model, batch = build(source), replayed(source, events)
    with torch.no_grad():
        model.channels.logit.fill_(1.0)
    weights = [model.read, model.direction, form_of(model).passed]
    alone, shared = (
        torch.autograd.grad(divergence(model.run(events, frozen_channels=frozen), batch), weights)
        for frozen in (False, True)
    )
    for own, together in zip(alone, shared, strict=True):
        torch.testing.assert_close(own, together, atol=1e-5, rtol=1e-3)


@torch.no_grad()
def test_a_quantum_of_the_block_form_can_be_the_attention_of_its_source(attention_alone, events):
    torch.testing.assert_close(copied(attention_alone)(events), attention_alone(events), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_sharpness_acts_only_while_quanta_are_missing(source, events):
    model = build(source)
    finished, early = (model.run(events, existence=torch.full((5,), share)).logits for share in (1.0, 0.5))
    form_of(model).sharpness.add_(1.0)
    torch.testing.assert_close(model.run(events).logits, finished)
    assert (model.run(events, existence=torch.full((5,), 0.5)).logits - early).abs().max() > 1e-3


def replayed(source: Transformer, events: Events, quanta: int = 5) -> ReplayedCheckpoint:
    nothing = torch.zeros(quanta, events.count, dtype=torch.bool)
    return ReplayedCheckpoint.of(source, events, existence=torch.ones(quanta), supports=nothing)


def test_layers_without_quanta_leave_the_gradient_finite(source, events):
    model = RecoveredQModel(
        layers=(1, 2), blocks=3, interface=source.interface(), config=RecoveredConfig(form="block"), seed=0
    )
    divergence(model.run(events, existence=torch.full((2,), 0.5)), replayed(source, events, 2)).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@torch.no_grad()
def test_a_perfect_copy_also_does_under_interventions_what_its_source_does(attention_alone, events):
    model, batch = copied(attention_alone), replayed(attention_alone, events, 3)
    for layer in range(3):
        surgery = ablate_quantum(layer)
        assert divergence(model.run(events, surgery=surgery), batch) > 1e-3
        loss = intervened_divergence(model, attention_alone, batch, surgery, layer)
        assert float(loss) == pytest.approx(0.0, abs=1e-5)
    found = compare_quanta(model, attention_alone, events)
    np.testing.assert_allclose(found.predicted, found.found["message"], atol=1e-4)
    assert found.correlation("random_direction") < 0.99


@torch.no_grad()
def test_without_an_intervention_the_term_is_the_divergence_of_the_predictions(source, events):
    model, batch = build(source), replayed(source, events)
    plain = divergence(model.run(events), batch)
    untouched = drawn_surgery(model, InterventionTerm(writers=0, quanta=0), np.random.default_rng(0))[1]
    assert float(intervened_divergence(model, source, batch, untouched, 1)) == pytest.approx(
        float(plain), abs=1e-5
    )


def test_a_drawn_intervention_concerns_units_of_one_layer(source):
    model, draw = build(source), np.random.default_rng(0)
    for _ in range(10):
        layer, surgery = drawn_surgery(model, InterventionTerm(writers=1, quanta=1), draw)
        own = [at == layer for at in LAYERS]
        assert surgery.silenced is not None
        assert surgery.silenced.all(1).tolist() == surgery.silenced.any(1).tolist() == own
        assert surgery.gates == {quantum: False for quantum, mine in enumerate(own) if mine}


def test_interventions_take_their_share_of_the_updates_once_they_begin(source, events):
    model, batch = build(source), replayed(source, events)
    term = InterventionTerm(share=1.0, begin=0.5)
    objective = IntervenedObjective(
        lambda model, batch, step: {"plain": torch.zeros(())}, term, source, [batch], 10, 0
    )
    kinds = [next(iter(objective(model, batch, step))) for step in range(10)]
    assert kinds == ["plain"] * 5 + ["interventions"] * 5
    assert model.score.grad is not None
    assert model.score.grad.abs().sum() > 0


@torch.no_grad()
def test_the_necessity_of_a_sender_is_the_rise_of_the_divergence_without_its_channels(source, events):
    model, batch = build(source), replayed(source, events)
    model.channels.logit.fill_(1.0)
    found, before = sender_necessity(model, [batch]), divergence(model.run(events), batch)
    for sender in range(5):
        model.channels.logit[:, sender] = -1.0
        rise = divergence(model.run(events), batch) - before
        model.channels.logit[:, sender] = 1.0
        assert float(found[sender]) == pytest.approx(float(rise), abs=1e-5)
    assert found[4] == 0
    assert found[:4].abs().min() > 0


def test_dispensable_senders_lose_their_channels_once_and_the_others_stay(source, events):
    model, batch = build(source), replayed(source, events)
    with torch.no_grad():
        model.channels.logit.fill_(1.0)
    rises = sender_necessity(model, [batch])[:4]
    least = float(rises.sort().values[2].clamp_min(1e-6))
    settings = Necessity(after=0.5, least=least)
    objective = NecessaryChannels(lambda model, batch, step: {}, settings, [batch], updates=4)
    senders = []
    for step in range(4):
        objective(model, batch, step)
        senders.append(sorted({edge.parent for edge in model.channels.edges}))
    kept = (rises >= least).nonzero().flatten().tolist()
    assert senders == [[0, 1, 2, 3]] * 2 + [kept] * 2
    assert 0 < len(kept) < 4


def test_a_stored_block_form_runs_without_its_source(source, events, tmp_path):
    model = build(source)
    QModel(model, VOCABULARY).save(tmp_path, made_by="test")
    with torch.no_grad():
        torch.testing.assert_close(QModel.load(tmp_path)(events), model(events))


SHORT = {"updates": 12, "parts": 4, "pool.numbers": 12, "pool.inputs": 6, "necessity.least": 1e-4}


@pytest.fixture(scope="module")
def fitted(tiny_source, tmp_path_factory) -> RecoveredRun:
    config = fit_config(tiny_source, "trusted", SHORT)
    return fit_recovered(config, tiny_source, read_factors(tiny_source)[0], tmp_path_factory.mktemp("trusted"))


@pytest.mark.parametrize("step", [5, 9])
def test_a_fit_that_is_killed_before_or_after_senders_are_chosen_resumes_to_the_same_bits(
    fitted, tmp_path, monkeypatch, step
):
    def dying(*args, objective, **kwargs):
        def until(model, batch, at):
            if at == step:
                raise KeyboardInterrupt
            return objective(model, batch, at)

        return train(*args, objective=until, **kwargs, pace=Pace(save=0.0))

    job = fitted.config, fitted.source, fitted.replay.factors, tmp_path / "fit"
    with monkeypatch.context() as patched:
        patched.setattr(fit, "train", dying)
        with pytest.raises(KeyboardInterrupt):
            fit_recovered(*job)
    again = fit_recovered(*job)
    for name, value in fitted.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_every_channel_is_that_of_a_sender_heard_by_all_later_quanta(fitted):
    opened, possible = fitted.model.channels.open, fitted.model.channels.possible
    assert ((opened == possible).all(0) | ~opened.any(0)).all()


@torch.no_grad()
def test_traces_interventions_and_previews_run_on_the_trusted_preset(fitted):
    model, prompt = fitted.model, ["BOS", *"346", "SEP"]
    told = trace(fitted, "346")
    assert list(told.output) == QModel.load(fitted.path).decode(prompt)[: len(told.output)]
    unit = model.names[0]
    everything, ablated = intervene(fitted, ["delete-all", f"ablate {unit}"], text="346").done
    closed = QModel.load(fitted.path).model
    closed.channels.logit.fill_(-1.0)
    events = everything.qmodel.events
    rise = [
        torch.nn.functional.cross_entropy(logits, events.target, reduction="none")
        for logits in (closed(events), model(events))
    ]
    torch.testing.assert_close(everything.qmodel.nll, rise[0] - rise[1], atol=1e-4, rtol=1e-4)
    assert ablated.source is not None
    assert preview(fitted, "346", [f"ablate {unit}"]).steps[0].source_after is not None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"frozen_share": 0.2}, "start open and are not trained: frozen_share=1"),
        ({"model.channel_start": -1.0}, "start open and are not trained: frozen_share=1"),
        ({"necessity.after": 1.0}, "necessity.after=1 is after the last update; use less than 1"),
    ],
)
def test_settings_under_which_necessity_has_no_effect_are_refused(change, complaint):
    with pytest.raises(InvalidConfig, match=complaint):
        FIT_PRESETS["trusted"].replace(change)
