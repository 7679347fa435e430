"""Derivatives by differences of forward passes, against those of a second backward pass."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.discovery import PriorityField, priority_field
from quantascope.discovery.derivative_form import check_derivatives
from quantascope.discovery.differences import Differences
from quantascope.discovery.linearized import Linearized, NotTwiceDifferentiable
from quantascope.discovery.memory import PeakMemory
from quantascope.models import Transformer, TransformerConfig
from quantascope.models.hugging_face import causal_lm_losses, read_weights
from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.sources.losses import ModuleLosses
from quantascope.tasks.number_naming import POSITIONS, VOCABULARY, naming_events
from quantascope.training import Recorder, Trajectory

GROUPS = {"first": "blocks.0.*", "second": "blocks.1.*"}


def transformer():
    """A network, its examples, and its layers."""
    config = TransformerConfig(blocks=2, width=8, hidden=16)
    model = Transformer(vocabulary=len(VOCABULARY), positions=POSITIONS, config=config, seed=3)
    return ModuleLosses(model), naming_events([1, 13, 346, 999, 3002]), ("blocks.0.", "blocks.1.", "head.", "")


def perceptron():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    inputs = torch.randn(20, 4)

    def losses(model, batch):
        return nn.functional.cross_entropy(model(batch), (batch[:, 0] > 0).long(), reduction="none")

    return ModuleLosses(model, losses), inputs, ("0.", "2.", "")


@pytest.fixture
def double():
    """Tensors that are made inside are in double precision."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def largest_error(made, along):
    """Error of derivatives along a direction in each layer, as a share of the largest derivative."""
    losses, examples, prefixes = made()
    at = {name: value.detach() for name, value in losses.module.named_parameters()}
    generator = torch.Generator().manual_seed(1)
    way = Linearized(losses, at, [examples]).gradient()
    if along == "a random direction":
        way = {name: torch.randn(value.shape, generator=generator) for name, value in at.items()}
    directions = [{name: v for name, v in way.items() if name.startswith(prefix)} for prefix in prefixes]
    value, exact = Linearized(losses, at, [examples]).along(directions)
    found, near = Differences(losses, at, [examples[:2], examples[2:]]).along(directions)
    torch.testing.assert_close(found, value)
    return float(((near - exact).abs().amax(1) / exact.abs().amax(1)).max())


@pytest.mark.parametrize("made", [transformer, perceptron])
@pytest.mark.parametrize("along", ["the gradient", "a random direction"])
def test_differences_agree_with_a_second_backward_pass_in_single_precision(made, along):
    assert largest_error(made, along) < 1e-3


@pytest.mark.parametrize("made", [transformer, perceptron])
@pytest.mark.parametrize("along", ["the gradient", "a random direction"])
@pytest.mark.usefixtures("double")
def test_differences_agree_with_a_second_backward_pass_in_double_precision(made, along):
    assert largest_error(made, along) < 1e-7


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_step_suits_directions_of_any_length_and_losses_of_any_unit(scale, unit):
    at, batch = {"slope": torch.tensor(3.0)}, torch.tensor([1.0, 2.0])
    here = Differences(lambda at, batch: unit * (at["slope"] * batch).sin(), at, [batch])
    (found,) = here.derivatives([{"slope": torch.tensor(scale)}])
    exact = unit * scale * batch * (3 * batch).cos()
    assert float((found - exact).abs().max()) < 1e-3 * float(exact.abs().max())


def test_a_direction_takes_two_forward_passes_and_one_that_does_not_move_takes_none():
    calls = []

    def losses(at, batch):
        calls.append(torch.is_grad_enabled())
        return (at["slope"] * batch).square()

    at, batch = {"slope": torch.tensor(3.0)}, torch.tensor([1.0, 2.0])
    found = Differences(losses, at, [batch]).derivatives([at, {}, {"slope": torch.tensor(0.0)}])
    assert calls == [False, False]
    torch.testing.assert_close(found, torch.tensor([[18.0, 72.0], [0.0, 0.0], [0.0, 0.0]]), rtol=1e-3, atol=0)


def test_a_step_that_was_found_at_one_point_is_taken_at_the_next():
    calls = []

    def losses(at, batch):
        calls.append(len(batch))
        return (30 * at["slope"] * batch).sin() + 2

    batch, sizes, taken = torch.tensor([1.0, 2.0]), {}, []
    for slope in (3.0, 3.001):
        calls.clear()
        at = {"slope": torch.tensor(slope)}
        found = Differences(losses, at, [batch], sizes).derivatives([at])
        exact = 30 * at["slope"].double() * batch * (30 * at["slope"].double() * batch).cos()
        assert float((found - exact).abs().max()) < 1e-3 * float(exact.abs().max())
        taken.append(len(calls))
    assert taken[0] > taken[1] == 2


def test_the_gradient_of_the_mean_loss_is_exact(sgd):
    at = sgd.trajectory.load(3)
    expected = Linearized(sgd.losses, at, [sgd.events]).gradient()
    for name, value in Differences(sgd.losses, at, [sgd.events[:5], sgd.events[5:]]).gradient().items():
        torch.testing.assert_close(value, expected[name], rtol=1e-4, atol=1e-6)


def measure(learned, **options):
    return priority_field(learned.trajectory, learned.losses, GROUPS, train=learned.events, **options)


@pytest.mark.parametrize("rule", ["gradient", "path"])
def test_a_field_by_differences_is_that_of_a_second_backward_pass_to_a_thousandth(sgd, rule):
    exact, near = (measure(sgd, rule=rule, derivatives=form) for form in ("backward", "differences"))
    assert (exact.derivatives, near.derivatives) == ("backward", "differences")
    for found, expected in ((near.values, exact.values), (near.other, exact.other)):
        assert np.abs(found - expected).max() < 1e-3 * np.abs(exact.values).max()
    np.testing.assert_array_equal(near.losses, exact.losses)
    assert near.completeness == pytest.approx(exact.completeness, rel=1e-3)


def test_the_form_of_a_kept_field_and_of_kept_parts_is_known(sgd, tmp_path):
    field = measure(sgd, derivatives="differences", parts=tmp_path / "parts")
    field.save(tmp_path / "field.safetensors", made_by="")
    assert PriorityField.load(tmp_path / "field.safetensors").derivatives == "differences"
    np.testing.assert_array_equal(
        measure(sgd, derivatives="differences", parts=tmp_path / "parts").values, field.values
    )
    with pytest.raises(RunMismatch, match=r"belongs to another measurement \(different derivatives\)"):
        measure(sgd, parts=tmp_path / "parts")


def test_differences_take_less_memory_than_a_second_backward_pass(sgd):
    at = sgd.trajectory.load(0)
    peaks = []
    for form in (Linearized, Differences):
        with PeakMemory() as used:
            form(sgd.losses, at, [sgd.events]).derivatives([at])
        peaks.append(used.peak)
    assert peaks[1] < peaks[0] / 2


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """Checkpoints of a small GPT-2, its tokens, and what builds it with either attention."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("gpt2")

    def build(attention):
        config = transformers.GPT2Config(
            vocab_size=32, n_embd=16, n_layer=2, n_head=2, n_positions=16, attn_implementation=attention,
            bos_token_id=0, eos_token_id=0, use_cache=False,
        )  # fmt: skip
        return transformers.GPT2LMHeadModel(config).eval()

    torch.manual_seed(0)
    model = build("eager")
    tokens = torch.randint(0, 32, (8, 10))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    for step in range(31):
        if step % 10 == 0:
            model.save_pretrained(folder / f"checkpoint-{step}")
        optimizer.zero_grad()
        causal_lm_losses(model, tokens).mean().backward()
        optimizer.step()
    return Trajectory.open(folder, reader=read_weights), tokens, build


def test_a_model_with_fused_attention_gets_the_field_of_its_plain_form(gpt2):
    trajectory, tokens, build = gpt2
    groups = {f"layer {i}": f"transformer.h.{i}.*" for i in range(2)}
    plain, fused = (
        priority_field(trajectory, ModuleLosses(build(attention), causal_lm_losses), groups, train=tokens)
        for attention in ("eager", "sdpa")
    )
    assert (plain.derivatives, fused.derivatives) == ("backward", "differences")
    assert np.abs(fused.values - plain.values).max() < 1e-3 * np.abs(plain.values).max()
    assert fused.completeness == pytest.approx(1, abs=0.01)


def test_fused_attention_is_refused_where_a_second_backward_pass_is_asked_for(gpt2):
    trajectory, tokens, build = gpt2
    losses = ModuleLosses(build("sdpa"), causal_lm_losses)
    with pytest.raises(NotTwiceDifferentiable, match='use derivatives="differences", or the kernel\'s plain form'):
        priority_field(trajectory, losses, {"all": "*"}, train=tokens, derivatives="backward")


@pytest.fixture
def moved(tmp_path):
    """Two checkpoints of a linear map, and its inputs."""
    torch.manual_seed(0)
    model, inputs = nn.Linear(2, 8, bias=False), torch.randn(20, 2)
    recorder = Recorder(model, tmp_path, steps=1)
    model.weight.data += 0.5
    recorder.step(0.1)
    return model, inputs, Trajectory.open(tmp_path)


def test_a_kernel_that_only_many_examples_choose_is_met_by_differences_too(moved):
    model, inputs, trajectory = moved
    memory = torch.randn(1, 1, 4, 8)

    def attended(model, batch, fused):
        query, own = model(batch)[:, None, None], memory.expand(len(batch), -1, -1, -1)
        if fused:
            return nn.functional.scaled_dot_product_attention(query, own, own).sum((1, 2, 3))
        return ((query @ own.transpose(2, 3) / 8**0.5).softmax(-1) @ own).sum((1, 2, 3))

    fused, plain = (
        priority_field(
            trajectory,
            ModuleLosses(model, lambda model, batch, least=least: attended(model, batch, len(batch) > least)),
            {"all": "*"},
            train=inputs,
        )
        for least in (10, 100)
    )
    assert (fused.derivatives, plain.derivatives) == ("differences", "backward")
    assert np.abs(fused.values - plain.values).max() < 1e-3 * np.abs(plain.values).max()


class Detached(torch.autograd.Function):
    """The square, with a gradient that cannot be differentiated and does not say so."""

    @staticmethod
    def forward(ctx, given):
        ctx.save_for_backward(given)
        return given.square()

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0].detach() * grad.detach()


def test_a_kernel_whose_second_derivative_is_silently_missing_is_noticed(moved):
    model, inputs, trajectory = moved
    partly = ModuleLosses(model, lambda model, batch: Detached.apply(model(batch)).sum(1) + model(batch).sum(1))
    plain = ModuleLosses(model, lambda model, batch: (model(batch).square() + model(batch)).sum(1))
    found, expected = (priority_field(trajectory, one, {"all": "*"}, train=inputs) for one in (partly, plain))
    assert (found.derivatives, expected.derivatives) == ("differences", "backward")
    assert np.abs(found.values - expected.values).max() < 1e-3 * np.abs(expected.values).max()
    with pytest.raises(
        NotTwiceDifferentiable, match="a second backward pass misses part of the gradient: the model"
    ):
        priority_field(trajectory, partly, {"all": "*"}, train=inputs, derivatives="backward")


@pytest.mark.parametrize("rule", ["gradient", "path"])
def test_buffers_are_no_directions(tmp_path, rule):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    inputs = torch.randn(12, 2)
    recorder, optimizer = Recorder(model, tmp_path, steps=4), torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(8):
        optimizer.zero_grad()
        (model(inputs).squeeze(1) - inputs.prod(1)).square().mean().backward()
        optimizer.step()
        recorder.step(0.05)
    losses = ModuleLosses(model, lambda model, batch: (model(batch).squeeze(1) - batch.prod(1)).square())
    exact, near = (
        priority_field(
            Trajectory.open(tmp_path), losses, {"first": "0.*"}, train=inputs, rule=rule, derivatives=form
        )
        for form in ("backward", "differences")
    )
    for found, expected in ((near.values, exact.values), (near.other, exact.other)):
        assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()


def test_unknown_derivatives_are_refused():
    with pytest.raises(
        InvalidConfig, match="unknown derivatives 'forward'; give backward or differences, or none"
    ):
        check_derivatives("forward")


def test_a_step_does_not_change_with_the_pieces_of_a_batch(sgd):
    short = replace(sgd, trajectory=sgd.trajectory.at([0, 10]))
    whole, pieces = (measure(short, derivatives="differences", memory=memory) for memory in (2e9, 5e4))
    assert np.abs(whole.values - pieces.values).max() < 1e-3 * np.abs(whole.values).max()
