"""Our muP against the `mup` package: the same initial variances, learning rates and function after steps."""

import itertools

import pytest
import torch
from torch import nn

mup = pytest.importorskip("mup", reason="make setup installs it")

from quantascope.models import Cohort, MLPConfig, MuMLPConfig, TaskMLP  # noqa: E402
from quantascope.training import OptimizerConfig  # noqa: E402
from quantascope.training.optimizer import build_optimizer  # noqa: E402

SENSORS, TASKS, LAYERS = 7, 5, 3


def ours(width: int, seed: int = 0) -> TaskMLP:
    config = MuMLPConfig(width=width, hidden_layers=LAYERS, base_width=8)
    return TaskMLP(sensors=SENSORS, tasks=TASKS, config=config, seed=seed)


def plain(width: int) -> nn.Sequential:
    sizes = [SENSORS + TASKS, *[width] * LAYERS]
    hidden = [layer for a, b in itertools.pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*hidden, mup.MuReadout(width, 2))


def theirs(width: int) -> nn.Sequential:
    network = plain(width)
    mup.set_base_shapes(network, plain(8), delta=plain(16))
    return network


def linear(network: nn.Sequential) -> list[nn.Linear]:
    return [layer for layer in network if isinstance(layer, nn.Linear)]


def named(network: nn.Sequential) -> dict[str, nn.Parameter]:
    """Their parameters by our names; the first weight is sensors and embedding together."""
    layers = list(enumerate(linear(network)))
    return {f"weight.{i}": layer.weight for i, layer in layers} | {f"bias.{i}": layer.bias for i, layer in layers}


def copied(model: TaskMLP) -> nn.Sequential:
    network, parts = theirs(model.config.width), model.state_dict()
    with torch.no_grad():
        for name, parameter in named(network).items():
            together = torch.cat([parts["weight.0"], parts["embedding"].T], 1)
            parameter.copy_(together if name == "weight.0" else parts[name])
    return network


def batch(seed: int, size: int = 256):
    generator = torch.Generator().manual_seed(seed)
    signs = 2.0 * torch.randint(0, 2, (size, SENSORS), generator=generator) - 1
    task = torch.randint(0, TASKS, (size,), generator=generator)
    return signs, task, signs[:, 0] * signs[:, 1]


def their_logits(network: nn.Sequential, signs, task):
    return network(torch.cat([signs, nn.functional.one_hot(task, TASKS).float()], 1))


@pytest.mark.parametrize("width", [8, 64, 256])
def test_initial_variances_are_those_of_mup(width):
    many = [ours(width, seed).state_dict() for seed in range(40)]
    torch.manual_seed(0)
    others = [named(theirs(width)) for _ in range(40)]
    for name, first in many[0].items():
        if name == "embedding":
            expected = torch.stack([other["weight.0"].detach()[:, SENSORS:].T for other in others])
        elif name == "weight.0":
            expected = torch.stack([other[name].detach()[:, :SENSORS] for other in others])
        else:
            expected = torch.stack([other[name].detach() for other in others])
        found = torch.stack([one[name] for one in many])
        assert found.shape[1:] == first.shape
        # The variance of n uniform draws is known to 0.9/√n; the widest gap allowed is five times that.
        reach = 5 * 1.3 / found.numel() ** 0.5
        assert found.var().item() == pytest.approx(expected.var().item(), rel=reach), name


RATES = {"sgd": (mup.MuSGD, 0.0075), "adam": (mup.MuAdam, 1e-3)}


@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize("width", [8, 16, 64])
def test_learning_rates_of_all_parameters_are_those_of_mup(optimizer, width):
    build, rate = RATES[optimizer]
    model, network = ours(width), theirs(width)
    groups = build(network.parameters(), lr=rate).param_groups
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    for name, parameter in named(network).items():
        assert rate * model.rate_factor(name, optimizer) == pytest.approx(rates[id(parameter)]), name
    assert model.rate_factor("embedding", optimizer) == model.rate_factor("weight.0", optimizer)


@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize("width", [8, 16, 64])
def test_the_function_after_thirty_steps_is_that_of_mup(optimizer, width):
    build, rate = RATES[optimizer][0], {"sgd": 0.05, "adam": 5e-3}[optimizer]
    model = ours(width)
    network = copied(model)
    their_optimizer = build(network.parameters(), lr=rate)
    cohort = Cohort([model, ours(24, seed=1)])
    our_optimizer = build_optimizer(cohort, OptimizerConfig(name=optimizer, learning_rate=rate))
    for step in range(30):
        signs, task, target = batch(step)
        their_optimizer.zero_grad()
        loss = nn.functional.cross_entropy(their_logits(network, signs, task), (target > 0).long())
        loss.backward()
        their_optimizer.step()
        found = cohort.loss_and_gradient(signs, task, target)[0]
        our_optimizer.step()
        torch.testing.assert_close(found, loss.detach(), rtol=1e-4, atol=1e-5)
    signs, task, _ = batch(99)
    moved = (model(signs, task) - ours(width)(signs, task)).abs().max()
    assert moved > 0.05
    torch.testing.assert_close(model(signs, task), their_logits(network, signs, task), rtol=1e-3, atol=1e-4)


def test_at_the_base_width_muP_is_the_standard_parametrization():
    standard = TaskMLP(sensors=SENSORS, tasks=TASKS, config=MLPConfig(width=8, hidden_layers=LAYERS), seed=0)
    assert torch.equal(standard.theta, ours(8).theta)
    assert standard.parameter_groups("sgd") == {1.0: [standard.theta]}


def layer_changes(width: int, config: type[MLPConfig], optimizer: str, rate: float) -> list[float]:
    """Mean size of what five steps change in each layer's output: the coordinate check."""
    changes = []
    for seed in range(3):
        shape = config(width=width, hidden_layers=LAYERS)
        model = TaskMLP(sensors=SENSORS, tasks=TASKS, config=shape, seed=seed)
        before = outputs(model)
        steps = build_optimizer(model, OptimizerConfig(name=optimizer, learning_rate=rate))
        for step in range(5):
            model.loss_and_gradient(*batch(step))
            steps.step()
        changes.append([float((b - a).abs().mean()) for a, b in zip(before, outputs(model), strict=True)])
    return torch.tensor(changes).mean(0).tolist()


def outputs(model: TaskMLP) -> list[torch.Tensor]:
    parts = model.split(model.theta.detach())
    signs, task, _ = batch(7)
    hidden = signs @ parts["weight.0"].T + (parts["embedding"] + parts["bias.0"])[task]
    found = [hidden]
    for layer in range(1, LAYERS):
        hidden = hidden.relu() @ parts[f"weight.{layer}"].T + parts[f"bias.{layer}"]
        found.append(hidden)
    return [*found, model(signs, task).detach()]


@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 1.0), ("adam", 3e-3)])
def test_coordinate_check_every_layer_moves_as_much_at_any_width(optimizer, rate):
    narrow, wide = (layer_changes(width, MuMLPConfig, optimizer, rate) for width in (128, 1024))
    for layer, (a, b) in enumerate(zip(narrow, wide, strict=True)):
        assert 0.5 < b / a < 2, (layer, a, b)
    # The standard parametrization fails the same check.
    narrow, wide = (layer_changes(width, MLPConfig, optimizer, rate) for width in (128, 1024))
    ratios = [b / a for a, b in zip(narrow, wide, strict=True)]
    assert min(ratios) < 0.5 or max(ratios) > 2


@pytest.mark.parametrize("optimizer", RATES)
def test_a_member_that_diverges_leaves_the_others_as_they_are(optimizer):
    alone, together = ours(8), Cohort([ours(8), ours(16)])
    with torch.no_grad():
        together.networks()[1].theta.fill_(float("inf"))
    optimizers = [
        build_optimizer(model, OptimizerConfig(name=optimizer, learning_rate=1e-2)) for model in (alone, together)
    ]
    for step in range(5):
        loss = alone.loss_and_gradient(*batch(step))
        losses = together.loss_and_gradient(*batch(step))
        assert losses[0] == loss
        assert not torch.isfinite(losses[1])
        for one in optimizers:
            one.step()
    assert torch.equal(together.networks()[0].theta, alone.theta)
