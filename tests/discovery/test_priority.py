"""The priority field against brute force, its completeness, and what it refuses."""

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from quantascope.discovery import PriorityField, priority_field
from quantascope.discovery import interval as interval_module
from quantascope.discovery.groups import resolve_groups
from quantascope.discovery.priority import check_rule
from quantascope.discovery.quadrature import COUNTS, nodes
from quantascope.models import Transformer, TransformerConfig
from quantascope.models.hugging_face import causal_lm_losses, read_weights
from quantascope.runs.artefact import read_facts
from quantascope.runs.errors import DamagedArtefact, EngineFailed, InvalidConfig, RunMismatch
from quantascope.sources.losses import ModuleLosses, event_cross_entropy, examples_digest
from quantascope.tasks.number_naming import naming_events
from quantascope.training import Recorder, Trajectory

GROUPS = {"first": "blocks.0.*", "second": "blocks.1.*"}


def measure(learned, **options):
    return priority_field(
        learned.trajectory, learned.losses, GROUPS, train=learned.events, **{"rule": "gradient"} | options
    )


def event_gradients(learned, index):
    """Gradient of each event's loss, one backward pass per event."""
    leaves = {name: value.requires_grad_() for name, value in learned.trajectory.load(index).items()}
    losses = learned.losses(leaves, learned.events)
    return [
        dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()), retain_graph=True), strict=True))
        for loss in losses
    ]


def test_the_gradient_rule_is_the_scaled_product_of_gradients_event_by_event(sgd):
    field = measure(sgd)
    for index in (0, 3):
        gradients = event_gradients(sgd, index)
        mean = {name: torch.stack([g[name] for g in gradients]).mean(0) for name in gradients[0]}
        for layer, prefix in enumerate(("blocks.0.", "blocks.1.")):
            names = [name for name in mean if name.startswith(prefix)]
            brute = [0.5 * sum(float((g[name] * mean[name]).sum()) for name in names) for g in gradients]
            np.testing.assert_allclose(field.values[layer, :, index], brute, rtol=1e-4, atol=1e-6)


def test_its_mean_over_all_parameters_is_the_squared_norm_of_the_population_gradient(sgd):
    field, gradients = measure(sgd), event_gradients(sgd, 2)
    mean = [torch.stack([g[name] for g in gradients]).mean(0) for name in gradients[0]]
    norm = sum(float(value.square().sum()) for value in mean)
    assert field.total[:, 2].mean() == pytest.approx(0.5 * norm, rel=1e-4)


@pytest.mark.parametrize("source", ["sgd", "adam"])
def test_the_path_rule_accounts_for_every_events_loss_change(source, request):
    field = measure(request.getfixturevalue(source), rule="path", tolerance=1e-3)
    assert field.completeness == pytest.approx(1, abs=1e-3)
    assert field.event_correlation > 0.9999
    assert field.reliable
    error = np.linalg.norm(field.total - field.loss_change, axis=0)
    assert (error <= 2e-3 * np.linalg.norm(field.loss_change, axis=0)).all()


@pytest.mark.parametrize("unit", [1e-8, 1e4])
def test_the_path_rule_takes_the_same_nodes_in_any_unit_of_the_loss(adam, monkeypatch, unit):
    counts, original = [], interval_module.nodes
    monkeypatch.setattr(interval_module, "nodes", lambda rule: counts.append(rule) or original(rule))
    coarse = replace(adam, trajectory=adam.trajectory.at([0, 30, 60]))
    plain = measure(coarse, rule="path", tolerance=1e-3)
    rules = counts.copy()
    counts.clear()
    scaled = ModuleLosses(adam.losses.module, lambda model, batch: unit * event_cross_entropy(model, batch))
    field = measure(replace(coarse, losses=scaled), rule="path", tolerance=1e-3)
    assert counts == rules
    assert max(rules) > 0
    np.testing.assert_allclose(field.values / unit, plain.values, rtol=1e-3, atol=1e-5)


def test_a_way_that_is_too_rough_for_the_most_nodes_is_warned_of(tmp_path):
    model = nn.Linear(1, 1, bias=False)
    recorder = Recorder(model.requires_grad_(False), tmp_path, steps=1)
    for place in (0.0, 0.1, 1.1):
        model.weight.fill_(place)
        recorder.step(0.1)
    losses = ModuleLosses(model, lambda model, batch: 2 + (500 * model(batch)).sin().squeeze(1))
    trajectory = Trajectory.open(tmp_path).at([1, 2, 3])
    with pytest.warns(
        UserWarning, match=r"the tolerance 0.01 at 47 nodes in 1 of 2 intervals, most from step 2 to 3"
    ):
        priority_field(trajectory, losses, {"all": "*"}, train=torch.ones(3, 1), rule="path")


def test_the_gradient_rule_fails_where_path_does_not_and_says_so(adam):
    field = measure(adam)
    assert not 0.5 < field.completeness < 2
    assert not field.reliable


def test_both_rules_agree_in_the_limit_of_small_steps(tmp_path, learn):
    small = learn(tmp_path, "SGD", 1e-4, steps=2, every=1)
    np.testing.assert_allclose(
        measure(small).values, measure(small, rule="path", tolerance=1e-4).values, rtol=0.05, atol=2e-7
    )


def test_events_that_were_not_trained_on_are_measured_under_the_same_updates(sgd):
    others = naming_events([4, 77, 346])
    field = measure(sgd, events=others)
    trained = measure(sgd)
    where = (sgd.events.example == 6).numpy()
    np.testing.assert_allclose(
        field.values[:, (others.example == 2).numpy()], trained.values[:, where], rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("rule", ["gradient", "path"])
def test_a_small_memory_budget_changes_nothing_but_the_pieces(sgd, rule, monkeypatch):
    whole = measure(sgd, rule=rule)
    sizes = []
    original = interval_module._chunks
    monkeypatch.setattr(interval_module, "_chunks", lambda e, chunk: sizes.append(chunk) or original(e, chunk))
    pieces = measure(sgd, rule=rule, memory=1e5)
    assert 1 <= max(sizes) < len(sgd.events)
    np.testing.assert_allclose(pieces.values, whole.values, rtol=2e-4, atol=1e-6)


def test_the_memory_that_is_used_stays_within_the_budget(sgd):
    from quantascope.discovery.memory import PeakMemory

    short = replace(sgd, trajectory=sgd.trajectory.at([0, 10]))
    with PeakMemory() as used:
        measure(short, rule="path", memory=1e5)
    parameters = sum(value.nbytes for value in sgd.trajectory.load(0).values())
    assert used.peak < 1e5 + 20 * parameters


def test_too_little_memory_says_how_much_is_needed(sgd):
    with pytest.raises(InvalidConfig, match=r"a memory budget of 1\.00 kB is too small for one example; give at"):
        measure(sgd, memory=1e3)


def test_an_engine_gives_the_same_field(sgd):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as engine:
        shared = measure(sgd, engine=engine)
    np.testing.assert_allclose(shared.values, measure(sgd).values, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("plain", [False, True])
def test_a_loss_that_no_other_process_can_have_is_named_with_the_remedy(sgd, plain):
    def own_loss(model, batch):
        return event_cross_entropy(model, batch)

    def own_losses(at, batch):
        return sgd.losses(at, batch)

    losses = own_losses if plain else ModuleLosses(sgd.losses.module, own_loss)
    context = multiprocessing.get_context("spawn")
    named = rf"the loss \S*own_loss{'es' if plain else ''} cannot be sent .*; define it by name at module level"
    with ProcessPoolExecutor(1, mp_context=context) as engine, pytest.raises(InvalidConfig, match=named):
        priority_field(sgd.trajectory, losses, GROUPS, train=sgd.events, engine=engine)


def test_measured_intervals_are_kept_and_not_measured_again(sgd, tmp_path, monkeypatch):
    told = []
    whole = measure(sgd, parts=tmp_path, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (6, 6)
    (tmp_path / "interval-00002.safetensors").unlink()
    again = []
    original = interval_module.Interval._measure
    monkeypatch.setattr(
        interval_module.Interval, "_measure", lambda self, index: again.append(index) or original(self, index)
    )
    np.testing.assert_array_equal(measure(sgd, parts=tmp_path, memory=1e6).values, whole.values)
    assert again == [2]


@pytest.mark.parametrize("rule", ["gradient", "path"])
def test_parts_of_another_measurement_are_refused(sgd, learn, tmp_path, rule):
    parts = tmp_path / "parts"
    asked = {"trajectory": sgd.trajectory, "event_losses": sgd.losses, "groups": GROUPS, "train": sgd.events}
    asked |= {"events": naming_events([7, 12, 305, 6100]), "rule": rule, "parts": parts}
    priority_field(**asked)
    priority_field(**asked)
    other = learn(tmp_path / "other", "SGD", 0.06).trajectory
    other = replace(other, mass=sgd.trajectory.mass)
    doubled = ModuleLosses(sgd.losses.module, lambda model, batch: 2 * event_cross_entropy(model, batch))
    changes = {
        "rule": {"rule": "gradient" if rule == "path" else "path"},
        "layers": {"groups": dict(reversed(GROUPS.items()))},
        "checkpoints": {"trajectory": other},
        "events or losses": {"events": naming_events([7, 12, 305, 6200])},
        "events or losses ": {"event_losses": doubled},
    }
    if rule == "path":
        changes["tolerance"] = {"tolerance": 0.1}
        # The first checkpoint is the same: the end of the interval tells them apart.
        changes["checkpoints "] = {
            "trajectory": replace(sgd.trajectory, files=(sgd.trajectory.files[0], *other.files[1:]))
        }
    else:
        changes["learning-rate mass"] = {"trajectory": replace(sgd.trajectory, mass=2 * sgd.trajectory.mass)}
        changes["events or losses  "] = {"train": sgd.events[1:]}
    for what, change in changes.items():
        with pytest.raises(
            RunMismatch, match=rf"belongs to another measurement \(different {what.strip()}\); move"
        ):
            priority_field(**asked | change)


def test_parts_of_another_quadrature_are_refused(sgd, tmp_path, monkeypatch):
    measure(sgd, rule="path", parts=tmp_path)
    monkeypatch.setattr(interval_module, "COUNTS", (2, 5, 11))
    with pytest.raises(RunMismatch, match=r"belongs to another measurement \(different nodes\); move"):
        measure(sgd, rule="path", parts=tmp_path)


class Tied(nn.Module):
    """An embedding that is the head as well, and a bias."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


def next_token(model, tokens):
    return nn.functional.cross_entropy(model(tokens), tokens.roll(1), reduction="none")


def next_token_by_name(at, tokens):
    logits = nn.functional.embedding(tokens, at["embedding.weight"]) @ at["head.weight"].T + at["head.bias"]
    return nn.functional.cross_entropy(logits, tokens.roll(1), reduction="none")


@pytest.fixture
def tied(tmp_path):
    torch.manual_seed(0)
    model, tokens = Tied(), torch.arange(5)
    recorder, optimizer = Recorder(model, tmp_path, steps=2), torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(6):
        optimizer.zero_grad()
        next_token(model, tokens).mean().backward()
        optimizer.step()
        recorder.step(0.1)
    return model, tokens, Trajectory.open(tmp_path)


def test_tied_tensors_are_recorded_once_and_restored_under_both_names(tied):
    model, _, trajectory = tied
    assert load_file(trajectory.files[0][0]).keys() == {"embedding.weight", "head.bias"}
    again = Tied()
    again.load_state_dict(trajectory.load(len(trajectory) - 1))
    for name, value in model.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, rtol=0, atol=0)


@pytest.mark.parametrize("by_name", [False, True])
def test_a_tied_tensor_is_credited_once_whatever_name_its_layer_has(tied, by_name):
    model, tokens, trajectory = tied
    losses = next_token_by_name if by_name else ModuleLosses(model, next_token)
    leaves = {name: p.detach().requires_grad_() for name, p in trajectory.load(0).items() if name != "head.weight"}
    each = next_token_by_name({**leaves, "head.weight": leaves["embedding.weight"]}, tokens)
    (population,) = torch.autograd.grad(each.mean(), leaves["embedding.weight"], retain_graph=True)
    expected = [
        0.2
        * float((torch.autograd.grad(loss, leaves["embedding.weight"], retain_graph=True)[0] * population).sum())
        for loss in each
    ]
    for name in ("embedding.weight", "head.weight"):
        field = priority_field(trajectory, losses, {"tied": name}, train=tokens, rule="gradient")
        np.testing.assert_allclose(field.values[0, :, 0], expected, rtol=1e-4, atol=1e-7)
    path = priority_field(trajectory, losses, {"tied": "head.weight"}, train=tokens, rule="path")
    assert path.completeness == pytest.approx(1, abs=0.01)
    assert np.abs(path.values).sum() > np.abs(path.other).sum()
    with pytest.raises(InvalidConfig, match=r"'embedding.weight', tied to 'head.weight', is in layer 'in' and in"):
        priority_field(trajectory, losses, {"in": "embedding.*", "out": "head.*"}, train=tokens)


def test_a_checkpoint_with_either_name_of_a_tied_tensor_will_do(tied):
    model, tokens, _ = tied
    losses, state = ModuleLosses(model, next_token), model.state_dict()
    whole = losses(state, tokens)
    for dropped in ("embedding.weight", "head.weight"):
        some = {name: value for name, value in state.items() if name != dropped}
        torch.testing.assert_close(losses(some, tokens), whole)


class Normed(nn.Module):
    """Normalizes by running statistics, drops out, and counts its forward passes."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(2, 4), nn.BatchNorm1d(4)
        self.drop, self.last = nn.Dropout(0.5), nn.Linear(4, 1)
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, inputs):
        self.passes += 1
        return self.last(self.drop(self.norm(self.first(inputs)))).squeeze(1)


@pytest.fixture
def normed(tmp_path):
    torch.manual_seed(1)
    model, inputs = Normed(), torch.randn(12, 2)
    recorder, optimizer = Recorder(model, tmp_path, steps=4), torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(12):
        optimizer.zero_grad()
        (model(inputs) - inputs.prod(1)).square().mean().backward()
        optimizer.step()
        recorder.step(0.05)
    losses = ModuleLosses(model, lambda model, batch: (model(batch) - batch.prod(1)).square())
    return model, inputs, Trajectory.open(tmp_path), losses


def test_losses_are_deterministic_use_the_checkpoints_buffers_and_leave_the_module_alone(normed):
    model, inputs, trajectory, losses = normed
    model.norm.eval()  # as a frozen part of a model in training is
    modes = [part.training for part in model.modules()]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for index in (0, 2):
        given = trajectory.load(index)
        found = losses(given, inputs)
        torch.testing.assert_close(losses(given, inputs), found, rtol=0, atol=0)
        torch.testing.assert_close(losses(given, inputs[:1]), found[:1])
        expected = Normed()
        expected.load_state_dict(given)
        torch.testing.assert_close(found, losses.losses(expected.eval(), inputs))
    assert [part.training for part in model.modules()] == modes
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


def test_buffers_are_credited_along_the_path_outside_layers_and_by_no_gradient(normed):
    _, inputs, trajectory, losses = normed
    everything = priority_field(trajectory, losses, {"all": "*"}, train=inputs, rule="path", tolerance=1e-4)
    assert everything.completeness == pytest.approx(1, abs=1e-3)
    assert np.abs(everything.other).max() > 1e-4  # the running statistics moved
    first_order = priority_field(trajectory, losses, {"all": "*"}, train=inputs, rule="gradient")
    assert np.abs(first_order.other).max() == 0
    with pytest.raises(InvalidConfig, match=r"layer 'statistics' \(norm.running_\*\) matches no parameter"):
        priority_field(trajectory, losses, {"statistics": "norm.running_*"}, train=inputs)


def test_integer_buffers_are_the_checkpoints(tmp_path):
    class Picks(nn.Module):
        def __init__(self, order):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
            self.register_buffer("order", torch.tensor(order))

        def forward(self, inputs):
            return (inputs * self.weight[self.order]).sum(1)

    recorder = Recorder(Picks([1, 0]), tmp_path, steps=1)
    recorder.step(0.1)
    losses = ModuleLosses(Picks([0, 1]), lambda model, batch: model(batch))
    field = priority_field(Trajectory.open(tmp_path), losses, {"all": "*"}, train=torch.eye(2))
    np.testing.assert_array_equal(field.losses[:, 0], [2, 1])


def test_a_norm_without_running_statistics_is_refused():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False))
    with pytest.raises(InvalidConfig, match=r"'1' normalizes by its batch, .* give it track_running_stats=True"):
        ModuleLosses(model)


def test_a_field_is_kept_as_an_artefact(sgd, tmp_path):
    field = measure(sgd)
    field.save(tmp_path / "priority.safetensors", made_by="abc")
    loaded = PriorityField.load(tmp_path / "priority.safetensors", made_by="abc")
    assert (loaded.rule, loaded.layers, loaded.steps.tolist()) == (
        "gradient",
        ("first", "second"),
        [*range(0, 61, 10)],
    )
    np.testing.assert_array_equal(loaded.values, field.values)
    with pytest.raises(RunMismatch):
        PriorityField.load(tmp_path / "priority.safetensors", made_by="def")
    save_file({"values": torch.zeros(1)}, tmp_path / "foreign.safetensors")
    with pytest.raises(DamagedArtefact, match="is not a priority field: its rule"):
        PriorityField.load(tmp_path / "foreign.safetensors")


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        (
            {"third": "blocks.2.*"},
            r"layer 'third' \(blocks\.2\.\*\) matches no parameter; the parameters are blocks",
        ),
        ({"one": "blocks.0.*", "two": ["head.bias", "blocks.*.up.bias"]}, "is in layer 'one' and in 'two'"),
        ({}, "needs at least one layer"),
    ],
)
def test_impossible_layers_are_refused(sgd, groups, complaint):
    with pytest.raises(InvalidConfig, match=complaint):
        resolve_groups(groups, sgd.trajectory.load(0))


def test_checkpoints_of_another_architecture_are_refused(sgd):
    wider = Transformer(vocabulary=44, positions=20, config=TransformerConfig(blocks=2, width=16), seed=0)
    with pytest.raises(
        DamagedArtefact, match=r"'embedding\.weight' is of shape \[44, 8\]; .* another architecture"
    ):
        priority_field(sgd.trajectory, ModuleLosses(wider), GROUPS, train=sgd.events)
    deeper = Transformer(
        vocabulary=44, positions=20, config=TransformerConfig(blocks=3, width=8, hidden=16), seed=0
    )
    with pytest.raises(DamagedArtefact, match=r"'blocks\.2\.\S+' is missing; .* another architecture"):
        priority_field(sgd.trajectory, ModuleLosses(deeper), GROUPS, train=sgd.events)


def test_a_non_finite_loss_names_event_and_step(tmp_path):
    model = nn.Linear(1, 1)
    recorder = Recorder(model, tmp_path, steps=1)
    recorder.step(0.1)
    losses = ModuleLosses(model, lambda model, batch: model(batch).squeeze(1).square() / batch.squeeze(1))
    with pytest.raises(InvalidConfig, match=r"the loss of event 1 is inf at step 0 \(1 of 3 are not finite\)"):
        priority_field(Trajectory.open(tmp_path), losses, {"all": "*"}, train=torch.tensor([[1.0], [0.0], [2.0]]))


def test_a_non_finite_loss_at_the_last_checkpoint_is_seen_too(tmp_path):
    model = nn.Linear(1, 1)
    recorder = Recorder(model, tmp_path, steps=1)
    model.weight.data.fill_(torch.nan)
    recorder.step(0.1)
    losses = ModuleLosses(model, lambda model, batch: model(batch).squeeze(1).square())
    with pytest.raises(InvalidConfig, match=r"the loss of event 0 is nan at step 1 \(1 of 1 are not finite\)"):
        priority_field(Trajectory.open(tmp_path), losses, {"all": "*"}, train=torch.ones(1, 1))


class Roots(nn.Module):
    """The root of each weight, whose gradient at zero is infinite and its product with no change NaN."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.ones(1)) for _ in range(2))

    def forward(self, inputs):
        return (inputs * self.first * self.second).clamp(min=0).sqrt()


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("gradient", "the gradient of the training loss in layer 'first' is not finite between step 0 and 1"),
        ("path", "the gradient of an event in layer 'first' is not finite between step 0 and 1"),
    ],
)
def test_a_gradient_that_is_not_finite_names_layer_and_step(tmp_path, rule, complaint):
    model = Roots()
    recorder = Recorder(model, tmp_path, steps=1)
    model.first.data += 1
    recorder.step(0.1)
    losses = ModuleLosses(model, lambda model, batch: model(batch))
    fine, bad = torch.ones(3), torch.tensor([1.0, 0.0, 1.0])
    events = fine if rule == "gradient" else bad
    groups = {"first": "first", "second": "second"}
    with pytest.raises(InvalidConfig, match=complaint):
        priority_field(Trajectory.open(tmp_path), losses, groups, train=bad, events=events, rule=rule)


def test_a_last_checkpoint_of_another_architecture_is_refused_for_a_plain_function(tmp_path):
    for step, name in enumerate(("weight", "weight", "other")):
        save_file({name: torch.ones(2) * (step + 1)}, tmp_path / f"step-{step}.safetensors")
    with pytest.raises(DamagedArtefact, match=r"step-2\.safetensors: tensor 'other' is F32 \[2\], at the first"):
        priority_field(
            Trajectory.open(tmp_path), lambda at, batch: batch @ at["weight"], {"all": "*"}, train=torch.eye(2)
        )


def test_an_impossible_tolerance_is_refused(sgd):
    with pytest.raises(InvalidConfig, match="tolerance -1 is not a share of the loss change; give one above 0"):
        measure(sgd, tolerance=-1.0)


def test_a_trajectory_without_change_has_no_completeness_and_is_not_reliable(tmp_path):
    model = nn.Linear(1, 1)
    Recorder(model, tmp_path, steps=1).step(0.1)
    losses = ModuleLosses(model, lambda model, batch: model(batch).squeeze(1).square())
    field = priority_field(Trajectory.open(tmp_path), losses, {"all": "*"}, train=torch.ones(2, 1))
    assert np.isnan([field.completeness, field.event_correlation]).all()
    assert not field.reliable


def test_a_mean_in_place_of_event_losses_and_an_unknown_rule_are_refused(sgd):
    mean = ModuleLosses(sgd.losses.module, lambda model, batch: event_cross_entropy(model, batch).mean())
    with pytest.raises(InvalidConfig, match=r"have shape \[\]; give one for each event in one dimension"):
        priority_field(sgd.trajectory, mean, GROUPS, train=sgd.events)
    with pytest.raises(InvalidConfig, match="there is no rule 'grad'; there are gradient and path"):
        check_rule("grad")


def test_one_checkpoint_or_no_examples_are_too_few(sgd):
    with pytest.raises(InvalidConfig, match="at least two checkpoints, not 1"):
        priority_field(sgd.trajectory.at([0]), sgd.losses, GROUPS, train=sgd.events)
    with pytest.raises(InvalidConfig, match="there are no examples in events"):
        measure(sgd, events=sgd.events[:0])


def test_the_gradient_rule_needs_learning_rates(sgd):
    foreign = Trajectory.of_files(
        {int(step): files for step, files in zip(sgd.trajectory.steps, sgd.trajectory.files, strict=True)}
    )
    with pytest.raises(InvalidConfig, match="do not record their learning rates; use the path rule"):
        priority_field(foreign, sgd.losses, GROUPS, train=sgd.events, rule="gradient")
    field = priority_field(foreign, sgd.losses, GROUPS, train=sgd.events, rule="path")
    np.testing.assert_allclose(field.values, measure(sgd, rule="path").values, rtol=1e-5)


@pytest.mark.parametrize(
    ("kept", "others"),
    [
        (naming_events([1, 4, 13]), naming_events([1, 4, 15])),
        (torch.zeros(3, 2), torch.zeros(3, 2, dtype=torch.float64)),
        ([np.zeros(3), torch.ones(1)], [np.zeros(3), torch.zeros(1)]),
    ],
)
def test_a_kept_field_of_other_examples_is_refused(tmp_path, kept, others):
    column = np.ones((2, 1), dtype=np.float32)
    field = PriorityField(
        "path", ("all",), np.arange(2), column[None], column, np.ones((2, 2)), examples=examples_digest(kept)
    )
    file = tmp_path / "field.safetensors"
    field.save(file, made_by="", note="kept")
    assert read_facts(file)["count"] == 2
    np.testing.assert_array_equal(PriorityField.load(file, events=kept).values, field.values)
    with pytest.raises(
        RunMismatch, match="is the field of 2 events of other examples; measure these into another"
    ):
        PriorityField.load(file, events=others)
    # What cannot be compared is taken, as fields are that were kept before they said their examples.
    PriorityField.load(file, events=["a text"])
    replace(field, examples=None).save(file, made_by="")
    PriorityField.load(file, events=others)


def test_a_measured_field_says_which_examples_it_is_of(sgd):
    short = replace(sgd, trajectory=sgd.trajectory.at([0, 10]))
    others = naming_events([4, 77])
    assert measure(short).examples == examples_digest(sgd.events)
    assert measure(short, events=others).examples == examples_digest(others)


def test_a_hugging_face_causal_language_model_is_measured(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPTNeoXConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, attn_implementation="eager", use_cache=False,
    )  # fmt: skip
    model = transformers.GPTNeoXForCausalLM(config).eval()
    tokens = torch.randint(0, 32, (6, 8))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for step in range(31):
        if step % 10 == 0:
            model.save_pretrained(tmp_path / f"checkpoint-{step}")
        optimizer.zero_grad()
        causal_lm_losses(model, tokens).mean().backward()
        optimizer.step()
    groups = {f"layer {i}": f"gpt_neox.layers.{i}.*" for i in range(2)}
    trajectory = Trajectory.open(tmp_path, reader=read_weights)
    field = priority_field(
        trajectory, ModuleLosses(model, causal_lm_losses), groups, train=tokens, rule="path", tolerance=1e-3
    )
    assert trajectory.steps.tolist() == [0, 10, 20, 30]
    assert field.values.shape == (2, 6 * 7, 3)
    assert field.completeness == pytest.approx(1, abs=2e-3)


def test_a_folder_that_is_no_saved_model_is_refused(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(DamagedArtefact, match=r"has no config\.json, so it is not a saved model; save"):
        read_weights((tmp_path / "model.safetensors",))


class Broken(Executor):
    """An engine whose worker is killed."""

    def map(self, fn, *iterables, **options):
        raise BrokenProcessPool


def test_a_killed_worker_is_reported_with_the_way_on(sgd):
    with pytest.raises(EngineFailed, match=r"a worker process died.*run the same command to resume"):
        measure(sgd, engine=Broken())


@pytest.mark.parametrize("form", ["backward", "differences"])
def test_no_node_is_taken_twice_and_every_node_counts(adam, monkeypatch, form):
    places, original = [], interval_module.Interval._at

    def at(self, start, way, place, sizes):
        places.append(place)
        return original(self, start, way, place, sizes)

    monkeypatch.setattr(interval_module.Interval, "_at", at)
    asked = {"train": adam.events, "derivatives": form}
    priority_field(adam.trajectory.at([0, 60]), adam.losses, {"all": "*"}, **asked, tolerance=3e-3)
    assert len(places) > COUNTS[0]
    assert tuple(places) == nodes(COUNTS.index(len(places)))[0]
