"""Derivatives of event losses against forward mode, and what is computed only once."""

import gc
import weakref

import pytest
import torch
from torch import nn
from torch.func import jvp

from quantascope.discovery.linearized import Linearized
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import ModuleLosses


def random_like(parameters, seed):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(value.shape, generator=generator) for name, value in parameters.items()}


def parts(direction):
    return [
        {name: value for name, value in direction.items() if name.startswith(prefix)}
        for prefix in ("blocks.0.", "blocks.1.", "head.", "")
    ]


def test_derivatives_along_any_direction_are_those_of_forward_mode(sgd):
    at = sgd.trajectory.load(3)
    directions = parts(random_like(at, seed=0))
    losses, found = Linearized(sgd.losses, at, [sgd.events]).along(directions)
    for direction, one in zip(directions, found, strict=True):
        moving = {name: at[name] for name in direction}
        value, expected = jvp(lambda moved: sgd.losses({**at, **moved}, sgd.events), (moving,), (direction,))
        torch.testing.assert_close(one, expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(losses, value)


def test_the_gradient_is_that_of_the_mean_loss_in_pieces_as_in_one(sgd):
    at = sgd.trajectory.load(3)
    leaves = {name: value.clone().requires_grad_() for name, value in at.items()}
    sgd.losses(leaves, sgd.events).mean().backward()
    pieces = [sgd.events[:5], sgd.events[5:6], sgd.events[6:]]
    for given in ([sgd.events], pieces):
        found = Linearized(sgd.losses, at, given).gradient()
        for name, leaf in leaves.items():
            torch.testing.assert_close(found[name], leaf.grad, rtol=1e-4, atol=1e-6)
    direction = [random_like(at, seed=1)]
    whole, cut = (Linearized(sgd.losses, at, given).along(direction)[1] for given in ([sgd.events], pieces))
    torch.testing.assert_close(whole, cut, rtol=1e-4, atol=1e-5)


def test_all_directions_and_the_gradient_share_one_forward_pass(sgd):
    calls = []

    def losses(parameters, batch):
        calls.append(len(batch))
        return sgd.losses(parameters, batch)

    at = sgd.trajectory.load(0)
    here = Linearized(losses, at, [sgd.events])
    here.along(parts(here.gradient()))
    assert calls == [len(sgd.events)]


def test_a_parameter_that_no_loss_depends_on_has_no_credit():
    at = {"used": torch.tensor(2.0), "unused": torch.ones(3)}
    here = Linearized(lambda at, batch: at["used"] * batch, at, [torch.tensor([1.0, 5.0])])
    assert here.gradient()["unused"].tolist() == [0, 0, 0]
    assert here.along([{"unused": torch.ones(3)}, at])[1].tolist() == [[0, 0], [2, 10]]


def test_a_kink_has_the_derivative_of_the_side_that_it_is_on():
    at = {"0.weight": torch.tensor([[1.0], [-1.0]])}
    losses = ModuleLosses(
        nn.Sequential(nn.Linear(1, 2, bias=False), nn.ReLU()), lambda model, batch: model(batch).sum(1)
    )
    found = Linearized(losses, at, [torch.tensor([[3.0], [-2.0]])]).along([{"0.weight": torch.ones(2, 1)}])[1]
    assert found.tolist() == [[3, -2]]


def test_a_fused_kernel_without_second_derivative_is_refused_with_the_remedy():
    def losses(at, batch):
        return nn.functional.scaled_dot_product_attention(at["query"] * batch, batch, batch).sum((0, 1, 3))

    at, batch = {"query": torch.tensor(1.0)}, torch.randn(1, 1, 4, 8)
    with pytest.raises(InvalidConfig, match=r"cannot be differentiated twice; use derivatives="):
        Linearized(losses, at, [batch]).along([at])


@pytest.mark.parametrize("pieces", [1, 3])
def test_memory_is_given_back_when_a_piece_is_done(sgd, pieces):
    made = []

    def losses(parameters, batch):
        made.extend(weakref.ref(value) for value in parameters.values())
        return sgd.losses(parameters, batch)

    gc.disable()
    try:
        Linearized(losses, sgd.trajectory.load(0), [sgd.events[:4]] * pieces).along([sgd.trajectory.load(0)])
        assert made
        assert all(reference() is None for reference in made)
    finally:
        gc.enable()
