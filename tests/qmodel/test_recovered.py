"""The recovered Q-model against a straightforward loop, closed forms and interventions."""

import math

import pytest
import torch

from quantascope.models import Transformer, TransformerConfig
from quantascope.models.grid import grid_of
from quantascope.models.residual import Interface, InterfaceConfig
from quantascope.qmodel.recovered.execution import at_events
from quantascope.qmodel.recovered.fit import FUNCTIONAL, FunctionalChannels
from quantascope.qmodel.recovered.interventions import (
    ablate_quantum,
    ablate_writer,
    delete_all,
    delete_one,
    effect,
    force_gate,
    partner_rows,
    replace_all,
)
from quantascope.qmodel.recovered.loss import (
    RecoveryLoss,
    ReplayedCheckpoint,
    active_writers,
    divergence,
    gate_error,
    reconstruction_error,
)
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.qmodel.recovered.saved import QModel
from quantascope.qmodel.recovered.surgery import Surgery
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import VOCABULARY, naming_events
from quantascope.training import Objective

LAYERS = (0, 0, 1, 1, 1, 2)


@pytest.fixture(scope="module")
def source() -> Transformer:
    return Transformer(vocabulary=44, positions=20, config=TransformerConfig(width=8, hidden=16), seed=1).eval()


def build(source: Transformer, seed: int = 3, layers: tuple[int, ...] = LAYERS, **changes) -> RecoveredQModel:
    model = RecoveredQModel(
        layers=layers, blocks=3, interface=source.interface(), config=RecoveredConfig(**changes), seed=seed
    )
    with torch.no_grad():
        model.gate.mul_(3)
        model.score.mul_(3)
        model.channels.logit.copy_(
            torch.randn(len(layers), len(layers), generator=torch.Generator().manual_seed(5))
        )
    return model


@pytest.fixture(scope="module")
def events() -> Events:
    return naming_events([7, 20, 346, 800, 4321, 50_007, 61, 922])


def turned(rows: torch.Tensor, base: float | None) -> torch.Tensor:
    """Pairs of dimensions as complex numbers, each times e^(i · position · frequency)."""
    if base is None:
        return rows
    half = rows.shape[1] // 2
    angle = torch.arange(len(rows))[:, None] * torch.tensor([base ** (-i / half) for i in range(half)])
    pairs = torch.complex(rows[:, :half], rows[:, half:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([pairs.real, pairs.imag], 1)


def executed_by_hand(model: RecoveredQModel, events: Events, existence: torch.Tensor) -> torch.Tensor:
    """Messages of every quantum at every token: one quantum, one example and one token at a time."""
    start = model.interface.embed(grid_of(events))
    rank, rows = model.config.rank, events.length.tolist()
    sent = []
    for quantum, layer in enumerate(model.layers):
        h = start.clone()
        for parent in range(quantum):
            if model.channels.open[quantum, parent]:
                h = h + sent[parent]
        normed = (h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
        message, first = torch.zeros_like(start), 0
        for length in rows:
            own = normed[first : first + length] @ model.read[layer]
            base, value = model.interface.config.rotary, own[:, 2 * rank :]
            query, key = (turned(part, base) for part in (own[:, :rank], own[:, rank : 2 * rank]))
            for t in range(length):
                weight = (key[: t + 1] @ query[t] / math.sqrt(rank)).softmax(0)
                seen = torch.cat([normed[first + t], weight @ value[: t + 1]])
                if seen @ model.gate[quantum, :, 0] + model.gate_bias[quantum, 0, 0] <= 0:
                    continue
                for writer in range(model.config.writers):
                    s = seen @ model.score[quantum, :, writer] + model.score_bias[quantum, 0, writer]
                    if s > model.config.threshold:
                        v = model.direction[quantum, writer]
                        message[first + t] += existence[quantum] * s * v / v.norm()
            first += length
        sent.append(message)
    return torch.stack(sent)


def test_the_papers_model_has_the_papers_parameters():
    paper = Interface(vocabulary=44, positions=20, width=32)
    model = RecoveredQModel(
        layers=(0,) * 5 + (1,) * 4 + (2,) * 4, blocks=3, interface=paper, config=RecoveredConfig(), seed=0
    )
    assert model.parameter_count == 2048 + 1516 + 3 * 1024 + 13 * 49 + 39 * 81 == 10_432
    assert model.channels.count == 5 * 4 + 5 * 4 + 4 * 4
    assert (model.names[5], model.writer_names[8]) == ("L1.Q0", ("L1.Q3.W9", "L1.Q3.W10", "L1.Q3.W11"))


@torch.no_grad()
def test_batched_quanta_do_what_a_loop_over_quanta_and_tokens_does(source, events):
    model, existence = build(source), torch.rand(6, generator=torch.Generator().manual_seed(0))
    done = model.run(events, existence=existence)
    by_hand = executed_by_hand(model, events, existence)
    assert by_hand.abs().sum((1, 2)).gt(0).any()
    torch.testing.assert_close(done.message, by_hand, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(done.activity.gt(0), done.opened.gt(0))
    start = model.interface.embed(grid_of(events))
    final = (start + by_hand.sum(0))[events.event_rows]
    torch.testing.assert_close(done.logits, source.head(source.norm(final)), atol=1e-4, rtol=1e-4)


def with_rotary(interface: Interface, base: float | None) -> Interface:
    """The same interface of a source with, or without, rotary positions."""
    return Interface.of(
        interface.state_dict(), positions=interface.positions, config=interface.config.replace({"rotary": base})
    )


@torch.no_grad()
def test_reads_turn_with_their_positions_where_those_of_the_source_do(source, events):
    model, existence = build(source), torch.ones(6)
    plain = model.run(events)
    model.interface = with_rotary(model.interface, 100.0)
    done = model.run(events)
    assert (done.message - plain.message).abs().max() > 0.01
    torch.testing.assert_close(done.message, executed_by_hand(model, events, existence), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_layers_without_quanta_add_nothing(source, events):
    model = build(source, layers=(1, 1, 2))
    done = model.run(events)
    assert done.updates[0].abs().max() == 0
    torch.testing.assert_close(done.message, executed_by_hand(model, events, torch.ones(3)), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_forward_pass_is_hard_and_closed_gates_write_nothing(source, events):
    done = build(source).run(events)
    assert set(done.active.unique().tolist()) == {0.0, 1.0}
    assert set(done.opened.unique().tolist()) == {0.0, 1.0}
    assert done.message[done.active == 0].abs().max() == 0
    assert done.activity[done.activity > 0].min() > RecoveredConfig().threshold


@torch.no_grad()
def test_what_does_not_exist_yet_leaves_the_source_readout_of_its_embedding(source, events):
    model = build(source)
    done = model.run(events, existence=torch.zeros(6))
    bare = model.interface.read_out(model.interface.embed(grid_of(events))[events.event_rows])
    torch.testing.assert_close(done.logits, bare)


def replayed(source: Transformer, events: Events) -> ReplayedCheckpoint:
    supports = torch.rand(6, events.count, generator=torch.Generator().manual_seed(2)) < 0.5
    return ReplayedCheckpoint.of(source, events, existence=torch.full((6,), 0.7), supports=supports)


def gradients(model: RecoveredQModel, batch: ReplayedCheckpoint, *terms, frozen: bool = False) -> RecoveredQModel:
    model.zero_grad()
    done = model.run(batch.events, interface=batch.interface, existence=batch.existence, frozen_channels=frozen)
    sum(term(done, batch) for term in terms).backward()
    return model


def reached(parameter: torch.nn.Parameter) -> bool:
    return parameter.grad is not None and bool(parameter.grad.abs().max() > 0)


def test_the_papers_gates_learn_from_supports_alone(source, events):
    batch = replayed(source, events)
    model = gradients(build(source), batch, reconstruction_error, divergence)
    assert not reached(model.gate)
    assert all(map(reached, (model.score, model.direction, model.read, model.channels.logit)))
    model = gradients(build(source), batch, gate_error)
    assert all(map(reached, (model.gate, model.gate_bias)))


def test_gates_may_also_learn_from_predictions_even_where_they_are_closed(source, events):
    model = build(source, gate_gradients=True)
    with torch.no_grad():
        model.gate_bias[5] = -50.0
    assert gradients(model, replayed(source, events), divergence).gate.grad[:5].abs().sum((1, 2)).gt(0).all()


def test_closed_channels_can_open_again_and_frozen_ones_do_not_move(source, events):
    batch = replayed(source, events)
    model = gradients(build(source), batch, reconstruction_error)
    closed = model.channels.possible & ~model.channels.open
    assert model.channels.logit.grad[closed].abs().max() > 0
    assert model.channels.logit.grad[~model.channels.possible].abs().max() == 0
    frozen = gradients(build(source), batch, reconstruction_error, frozen=True)
    assert frozen.channels.logit.grad is None
    assert all(parameter.grad is None for parameter in frozen.interface.parameters())


@torch.no_grad()
def test_the_terms_vanish_where_they_should(source, events):
    batch = replayed(source, events)
    model = build(source)
    done = model.run(events)
    perfect = ReplayedCheckpoint(
        events, batch.interface, [*done.updates[:2], torch.ones_like(done.updates[2])],
        done.logits.log_softmax(-1), batch.existence, batch.supports, batch.labelled,
    )  # fmt: skip
    assert float(divergence(done, perfect)) == pytest.approx(0, abs=1e-6)
    alone = (done.updates[2] - 1).square().sum() / done.updates[2].numel()
    torch.testing.assert_close(reconstruction_error(done, perfect), alone / 3)
    wanted = float(active_writers(done))
    assert wanted == pytest.approx(at_events(done.opened, events).sum().item() / events.count)
    terms = RecoveryLoss(writer_target=2 * wanted).terms(steps=1000)
    assert float(terms["writers"](done, batch, 100)) == pytest.approx(0.5 * 0.25)
    assert float(terms["channels"](done, batch, 1000)) == pytest.approx(
        0.0015 * float(model.channels.probability.sum())
    )
    assert float(terms["channel_entropy"](done, batch, 500)) == 0


def test_gate_labels_count_only_where_there_are_some(source, events):
    supports = torch.zeros(6, 4, dtype=torch.bool)
    supports[:, :2] = True
    batch = ReplayedCheckpoint.of(source, events, existence=torch.ones(6), supports=supports)
    assert batch.labelled.sum() == 4
    done = build(source).run(events)
    whole = naming_events([7, 20])
    part = ReplayedCheckpoint.of(source, whole, existence=torch.ones(6), supports=supports)
    torch.testing.assert_close(gate_error(done, batch), gate_error(build(source).run(whole), part))


@torch.no_grad()
def test_gates_that_count_by_their_inactive_events_are_torch_s_positive_weights(source, events):
    batch, done = replayed(source, events), build(source).run(events)
    labels = batch.supported.T
    logits = done.gate[:, events.event_rows].T
    positive = labels.sum(0)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, labels, pos_weight=(len(labels) - positive) / positive
    )
    torch.testing.assert_close(gate_error(done, batch, "inactive"), expected)


def test_functional_channels_have_the_gradient_of_the_functional_terms_alone(source, events):
    batch, terms = replayed(source, events), RecoveryLoss().terms(100)
    step = 80  # all ramps are up

    def objective(names):
        return Objective(
            forward=lambda model, batch: model.run(batch.events),
            terms={name: lambda done, batch, step, t=terms[name]: t(done, batch, step) for name in names},
        )

    whole, functional, split = build(source), build(source), build(source)
    objective(terms)(whole, batch, step)
    objective([name for name in terms if name in FUNCTIONAL])(functional, batch, step)
    FunctionalChannels(objective(terms))(split, batch, step)
    torch.testing.assert_close(split.channels.logit.grad, functional.channels.logit.grad)
    assert not torch.allclose(split.channels.logit.grad, whole.channels.logit.grad)
    for name, parameter in split.named_parameters():
        if name != "channels.logit":
            torch.testing.assert_close(parameter.grad, whole.get_parameter(name).grad)


def test_the_paper_s_initialisation_lets_writers_see_the_sum_of_what_is_read(source):
    model = RecoveredQModel(
        layers=LAYERS,
        blocks=3,
        interface=source.interface(),
        config=RecoveredConfig(initialization="paper"),
        seed=0,
    )
    width = source.width
    assert (model.score[:, width:] == 1).all()
    assert (model.gate[:, width:] == 0).all()
    assert model.read.std().item() == pytest.approx(width**-0.5, rel=0.1)
    assert model.direction.std().item() == pytest.approx(0.02, rel=0.2)


@torch.no_grad()
def test_deleting_all_messages_is_closing_all_channels(source, events):
    model = build(source)
    deleted = model.run(events, surgery=delete_all(model))
    model.channels.logit.fill_(-1.0)
    torch.testing.assert_close(deleted.logits, model.run(events).logits)


@torch.no_grad()
def test_one_deleted_message_changes_its_child_and_no_quantum_beside_it(source, events):
    model = build(source)
    (parent, child), before = next((e.parent, e.child) for e in model.channels.edges), model.run(events)
    after = model.run(events, surgery=delete_one(model, parent, child))
    same = [q for q, layer in enumerate(model.layers) if layer <= model.layers[child] and q != child]
    torch.testing.assert_close(after.message[same], before.message[same])


@torch.no_grad()
def test_an_ablated_quantum_is_one_that_does_not_exist(source, events):
    model, existence = build(source), torch.ones(6)
    existence[1] = 0
    for surgery in (ablate_quantum(1), Surgery(silenced=torch.arange(6)[:, None].expand(6, 3) == 1)):
        torch.testing.assert_close(
            model.run(events, surgery=surgery).logits, model.run(events, existence=existence).logits
        )
    assert model.run(events, surgery=force_gate(1)).active[1].min() == 1


@torch.no_grad()
def test_a_silenced_writer_takes_away_just_what_it_wrote(source, events):
    model = build(source)
    before = model.run(events)
    after = model.run(events, surgery=ablate_writer(model, 5, 2))
    wrote = before.activity[5, :, 2, None] * model.directions[5, 2]
    torch.testing.assert_close(before.updates[2] - after.updates[2], wrote, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_replaced_messages_come_from_an_example_of_the_same_shape(source, events):
    rows = partner_rows(events, seed=0)
    assert sorted(rows.tolist()) == list(range(len(events.rows)))
    position = events.rows % events.tokens.shape[1]
    torch.testing.assert_close(position[rows], position)
    model = build(source)
    own = Surgery(received=model.run(events).activity)
    torch.testing.assert_close(model.run(events, surgery=own).logits, model.run(events).logits)
    twice = naming_events([346, 346])
    assert effect(model, twice, replace_all(model, twice)).nll.abs().max() < 1e-5


@torch.no_grad()
def test_effects_are_counted_event_by_event(source, events):
    model = build(source)
    found = effect(model, events, ablate_quantum(5))
    lost = found.by_word()
    shares = {token: float((events.target == token).double().mean()) for token in lost}
    assert sum(lost[token] * shares[token] for token in lost) == pytest.approx(found.accuracy_drop, abs=1e-6)
    low, high = found.interval(found.nll)
    assert low <= found.nll_rise <= high
    low, high = found.drop_interval
    assert low <= found.accuracy_drop <= high
    assert str(effect(model, events, Surgery()).accuracy_drop) == "0.0"


def test_a_stored_q_model_runs_without_its_source(source, events, tmp_path):
    model = build(source)
    QModel(model, VOCABULARY).save(tmp_path, made_by="here")
    again = QModel.load(tmp_path, vocabulary=VOCABULARY)
    torch.testing.assert_close(again(events), model(events))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 100_000
    assert again.decode(["BOS", "7", "SEP"])
    with pytest.raises(InvalidConfig, match="'x' is not in the Q-model's vocabulary"):
        again.decode(["BOS", "x", "SEP"])
    with pytest.raises(InvalidConfig, match="'7' is a string; give a list of symbols"):
        again.decode("7")
    for length in (0, 20):
        with pytest.raises(InvalidConfig, match=f"a prompt of {length} symbols leaves no answer.* 1 to 19"):
            again.decode(["BOS"] * length)


@pytest.mark.parametrize(
    "config",
    [
        InterfaceConfig(learned_positions=False, rotary=500.0, norm="rms", eps=1e-6, head_bias=False),
        InterfaceConfig(learned_positions=False, affine=False, embedding_scale=2.0),
    ],
)
def test_a_stored_q_model_keeps_the_kind_of_its_interface(config, events, tmp_path):
    interface = Interface(vocabulary=44, positions=20, width=8, config=config)
    model = RecoveredQModel(layers=(0, 1), blocks=2, interface=interface, config=RecoveredConfig(), seed=0)
    QModel(model, VOCABULARY).save(tmp_path, made_by="here")
    again = QModel.load(tmp_path)
    assert again.model.interface.config == config
    torch.testing.assert_close(again(events), model(events), atol=0, rtol=0)
    assert len(again.decode(["BOS", "7", "SEP"])) <= 17


@torch.no_grad()
def test_interfaces_embed_and_read_out_as_their_config_says(events):
    scaled = Interface(
        vocabulary=44, positions=20, width=8, config=InterfaceConfig(learned_positions=False, embedding_scale=3.0)
    )
    tokens = grid_of(events).token
    torch.testing.assert_close(scaled.embed(grid_of(events)), 3 * scaled.embedding.weight[tokens])
    rms = Interface(vocabulary=44, positions=20, width=8, config=InterfaceConfig(norm="rms", eps=0.1))
    stream = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    normed = stream / (stream.square().mean(-1, keepdim=True) + 0.1).sqrt()
    torch.testing.assert_close(rms.read_out(stream), normed @ rms.head.weight.T + rms.head.bias)


def test_q_models_that_cannot_be_loaded_say_why(source, tmp_path):
    with pytest.raises(DamagedArtefact, match="holds no Q-model; make one with quantascope fit"):
        QModel.load(tmp_path)
    QModel(build(source), VOCABULARY).save(tmp_path, made_by="here")
    with pytest.raises(RunMismatch, match="made by config here, not by there"):
        QModel.load(tmp_path, made_by="there")
    with pytest.raises(RunMismatch, match="has another vocabulary of 44 symbols, not the expected 3"):
        QModel.load(tmp_path, vocabulary=("PAD", "BOS", "SEP"))
    with pytest.raises(RunMismatch, match="reads 44 symbols but the vocabulary has 2"):
        QModel(build(source), ("PAD", "BOS"))
    whole = (tmp_path / "qmodel.safetensors").read_bytes()
    (tmp_path / "qmodel.safetensors").write_bytes(whole[:-10])
    with pytest.raises(DamagedArtefact, match="damaged"):
        QModel.load(tmp_path)


@pytest.mark.parametrize(
    ("layers", "says"), [((), "there are no factors"), ((1, 0), "not in order"), ((3,), "3 blocks")]
)
def test_impossible_quanta_are_refused(source, layers, says):
    with pytest.raises(InvalidConfig, match=says):
        build(source, layers=layers)
