import copy
import io
import math

import pytest
import torch
from scipy import stats
from torch import nn

from quantascope.models import MLPConfig, TaskMLP
from quantascope.runs.errors import DamagedArtefact

SENSORS, TASKS = 7, 5


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def mlp(*, width: int = 8, hidden_layers: int = 2, seed: int = 0, double: bool = True) -> TaskMLP:
    config = MLPConfig(width=width, hidden_layers=hidden_layers)
    model = TaskMLP(sensors=SENSORS, tasks=TASKS, config=config, seed=seed)
    return model.double() if double else model


def batch(
    size: int = 32, *, seed: int = 0, dtype=torch.float64
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    signs = 2.0 * torch.randint(0, 2, (size, SENSORS), generator=generator).to(dtype) - 1
    target = 2.0 * torch.randint(0, 2, (size,), generator=generator).to(dtype) - 1
    return signs, torch.randint(0, TASKS, (size,), generator=generator), target


def plain_network(model: TaskMLP) -> nn.Sequential:
    """nn.Linear layers over sensors and one-hot task side by side, with the weights of `model`."""
    parts = model.state_dict()
    layers: list[nn.Module] = []
    for layer in range(model.config.hidden_layers + 1):
        weight = parts[f"weight.{layer}"]
        if layer == 0:
            weight = torch.cat([weight, parts["embedding"].T], dim=1)
        linear = nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
        linear.load_state_dict({"weight": weight, "bias": parts[f"bias.{layer}"]})
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def plain_logits(network: nn.Sequential, signs: torch.Tensor, task: torch.Tensor) -> torch.Tensor:
    return network(torch.cat([signs, nn.functional.one_hot(task, TASKS).to(signs.dtype)], dim=1))


def cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits, (target > 0).long())


def assert_gradient_is_that_of_autograd(model: TaskMLP, rows: tuple[torch.Tensor, ...]) -> None:
    signs, task, target = rows
    loss = cross_entropy(model(signs, task), target)
    (gradient,) = torch.autograd.grad(loss, model.theta)
    torch.testing.assert_close(model.loss_and_gradient(*rows), loss.detach(), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(model.theta.grad, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("width", "parameters"),
    [
        (8, 5146),
        (16, 10802),
        (24, 16970),
        (32, 23650),
        (48, 38546),
        (64, 55490),
        (96, 95522),
        (128, 143746),
        (256, 418562),
        (512, 1361410),
    ],
)
def test_the_scaling_networks_have_the_papers_parameter_counts(width, parameters):
    model = TaskMLP(sensors=100, tasks=504, config=MLPConfig(width=width, hidden_layers=5), seed=0)
    assert model.parameter_count == sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize("hidden_layers", [1, 2, 5])
def test_logits_equal_those_of_linear_layers_over_a_concatenated_one_hot_task(hidden_layers):
    model = mlp(hidden_layers=hidden_layers)
    signs, task, _ = batch()
    torch.testing.assert_close(model(signs, task), plain_logits(plain_network(model), signs, task))


@pytest.mark.parametrize("hidden_layers", [1, 2, 5])
def test_the_written_gradient_equals_autograd_through_linear_layers(hidden_layers):
    model, rows = mlp(hidden_layers=hidden_layers, seed=3), batch(64)
    network = plain_network(model)
    loss = cross_entropy(plain_logits(network, *rows[:2]), rows[2])
    loss.backward()
    torch.testing.assert_close(model.loss_and_gradient(*rows), loss.detach(), rtol=1e-9, atol=1e-12)
    linear = [layer for layer in network if isinstance(layer, nn.Linear)]
    expected = {f"bias.{layer}": part.bias.grad for layer, part in enumerate(linear)}
    expected |= {f"weight.{layer}": part.weight.grad for layer, part in enumerate(linear)}
    first = expected["weight.0"]
    expected |= {"weight.0": first[:, :SENSORS], "embedding": first[:, SENSORS:].T}
    found = model.split(model.theta.grad)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(
            gradient, expected[name], rtol=1e-9, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}"
        )
        assert gradient.any()


def test_the_written_gradient_equals_finite_differences():
    model, rows = mlp(width=3, hidden_layers=2), batch(6)
    model.loss_and_gradient(*rows)
    gradient, step = model.theta.grad.clone(), 1e-6

    def loss_at(index: int, change: float) -> float:
        moved = model.theta.detach().clone()
        moved[index] += change
        other = mlp(width=3, hidden_layers=2)
        other.load_state_dict(model.split(moved))
        return cross_entropy(other(*rows[:2]), rows[2]).item()

    slopes = [(loss_at(i, step) - loss_at(i, -step)) / (2 * step) for i in range(model.parameter_count)]
    torch.testing.assert_close(gradient, torch.tensor(slopes, dtype=torch.float64), rtol=1e-6, atol=1e-8)


def test_the_loss_is_finite_and_right_when_the_network_is_confidently_wrong():
    model, (signs, task, _) = mlp(hidden_layers=1), batch(4)
    with torch.no_grad():
        for name, part in model.split(model.theta).items():
            part.fill_(0)
            if name == "bias.1":
                part.copy_(torch.tensor([0.0, 200.0]))
    assert model.loss_and_gradient(signs, task, -torch.ones(4, dtype=torch.float64)).item() == 200.0
    assert model.split(model.theta.grad)["bias.1"].tolist() == [-1.0, 1.0]
    assert model.loss_and_gradient(signs, task, torch.ones(4, dtype=torch.float64)).item() < 1e-80


@pytest.mark.parametrize(("double", "tolerance"), [(True, 1e-9), (False, 1e-4)])
def test_fifty_adam_steps_give_the_losses_of_plain_linear_layers(double, tolerance):
    model = mlp(width=16, double=double)
    network, dtype = plain_network(model), model.theta.dtype
    flat, layered = (torch.optim.Adam(part.parameters(), lr=1e-2) for part in (model, network))
    for step in range(50):
        rows = batch(64, seed=step, dtype=dtype)
        layered.zero_grad()
        expected = cross_entropy(plain_logits(network, *rows[:2]), rows[2])
        expected.backward()
        found = model.loss_and_gradient(*rows)
        torch.testing.assert_close(found, expected.detach(), rtol=tolerance, atol=tolerance)
        layered.step()
        flat.step()


def test_the_gradient_replaces_the_last_one_instead_of_adding_to_it():
    model, rows = mlp(), batch()
    model.loss_and_gradient(*rows)
    once = model.theta.grad.clone()
    model.loss_and_gradient(*rows)
    assert torch.equal(model.theta.grad, once)


def _set_no_gradient(model: TaskMLP) -> None:
    model.theta.grad = None


def _replace_gradient(model: TaskMLP) -> None:
    model.theta.grad = torch.ones_like(model.theta)


def _load_other_weights(model: TaskMLP) -> None:
    model.load_state_dict(mlp(seed=9).state_dict())


def _assign_other_weights(model: TaskMLP) -> None:
    model.load_state_dict(mlp(seed=9).state_dict(), assign=True)


def _replace_data(model: TaskMLP) -> None:
    model.theta.data = mlp(seed=9).theta.data


@pytest.mark.parametrize(
    "change",
    [
        _set_no_gradient,
        lambda model: model.zero_grad(set_to_none=True),
        lambda model: model.zero_grad(set_to_none=False),
        _replace_gradient,
        _load_other_weights,
        _assign_other_weights,
        _replace_data,
        lambda model: model.float().double(),
        lambda model: model.loss_and_gradient(*batch(5)),
    ],
    ids=["none", "to_none", "zero", "replaced", "loaded", "assigned", "data", "converted", "batch_size"],
)
def test_the_written_gradient_stays_right_after_the_tensors_behind_it_changed(change):
    model = mlp()
    model.loss_and_gradient(*batch(32))
    change(model)
    assert_gradient_is_that_of_autograd(model, batch(32, seed=1))
    assert_gradient_is_that_of_autograd(model, batch(16, seed=2))
    assert_gradient_is_that_of_autograd(model, batch(32, seed=3))


def test_a_deep_copy_trains_on_its_own():
    model = mlp()
    model.loss_and_gradient(*batch())
    before, gradient = model.theta.detach().clone(), model.theta.grad.clone()
    twin, reference = copy.deepcopy(model), mlp(seed=5)
    reference.load_state_dict(model.state_dict())
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-2) for part in (twin, reference)]
    for step in range(5):
        rows = batch(seed=step)
        assert twin.loss_and_gradient(*rows) == reference.loss_and_gradient(*rows)
        for optimizer in optimizers:
            optimizer.step()
    assert torch.equal(twin.theta, reference.theta)
    assert torch.equal(twin.state_dict()["weight.1"], reference.state_dict()["weight.1"])
    assert not torch.equal(twin.theta, before)
    assert torch.equal(model.theta, before)
    assert torch.equal(model.theta.grad, gradient)
    twin.load_state_dict(mlp(seed=8).state_dict())
    assert torch.equal(model.theta, before)


def test_the_state_has_a_named_tensor_for_each_layer():
    shapes = {name: tuple(part.shape) for name, part in mlp(width=8, hidden_layers=2).state_dict().items()}
    assert shapes == {
        "embedding": (5, 8),
        "weight.0": (8, 7),
        "bias.0": (8,),
        "weight.1": (8, 8),
        "bias.1": (8,),
        "weight.2": (2, 8),
        "bias.2": (2,),
    }


def test_a_saved_state_restores_every_logit():
    model, other = mlp(seed=1), mlp(seed=2)
    signs, task, _ = batch()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file)
    assert not torch.equal(model(signs, task), other(signs, task))
    other.load_state_dict(state)
    assert torch.equal(model(signs, task), other(signs, task))
    assert sorted(state) == sorted(model.state_dict())  # loading leaves the mapping as it was


def test_the_layers_keep_their_names_inside_a_larger_module():
    inside, other = nn.ModuleDict({"learner": mlp(seed=1)}), nn.ModuleDict({"learner": mlp(seed=2)})
    assert set(inside.state_dict()) == {f"learner.{name}" for name in mlp().state_dict()}
    other.load_state_dict(inside.state_dict())
    assert torch.equal(other["learner"].theta, inside["learner"].theta)


@pytest.mark.parametrize(
    ("name", "part", "message"),
    [
        (
            "weight.1",
            torch.zeros(3, 3),
            r"tensor 'weight.1' is of shape \(3, 3\); .* shape \(8, 8\)",
        ),
        ("embedding", torch.zeros(8, 5), r"tensor 'embedding' is of shape \(8, 5\); .* shape \(5, 8\)"),
        ("bias.2", None, r"tensor 'bias.2' is missing; this model needs shape \(2,\)"),
    ],
)
def test_a_tensor_that_does_not_fit_is_refused_by_name_and_nothing_is_loaded(name, part, message):
    state, model = dict(mlp(seed=1).state_dict()), mlp(seed=2)
    before = model.theta.detach().clone()
    del state[name]
    if part is not None:
        state[name] = part
    with pytest.raises(DamagedArtefact, match=message):
        model.load_state_dict(state)
    assert torch.equal(model.theta, before)


def test_the_weights_follow_from_the_seed_alone():
    torch.manual_seed(1)
    one = mlp(seed=4)
    torch.manual_seed(2)
    assert torch.equal(one.theta, mlp(seed=4).theta)
    assert not torch.equal(one.theta, mlp(seed=5).theta)


def test_initial_weights_are_uniform_in_pytorchs_bounds_for_linear_layers():
    model = TaskMLP(sensors=40, tasks=60, config=MLPConfig(width=64, hidden_layers=2), seed=0)
    for name, part in model.state_dict().items():
        inputs = 100 if name in ("embedding", "weight.0", "bias.0") else 64
        bound = 1 / math.sqrt(inputs)
        assert part.abs().max() <= bound
        uniform = stats.uniform(loc=-bound, scale=2 * bound)
        assert stats.kstest(part.flatten().numpy(), uniform.cdf).pvalue > 1e-3, name
