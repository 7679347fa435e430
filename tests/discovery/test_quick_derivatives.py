"""The quick second derivatives of layer normalization and GELU against torch's own."""

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from quantascope.discovery.linearized import Linearized
from quantascope.discovery.quick_derivatives import QuickDerivatives


def derivatives(norm: nn.Module, quick: bool):
    """Values, first derivatives, and the derivative of their product with a direction by the events' weights."""
    draw = torch.Generator().manual_seed(0)
    x, weights = torch.randn(6, 3, 8, generator=draw).requires_grad_(), torch.ones(6, requires_grad=True)
    leaves = [x, *norm.parameters()]
    if quick:
        with QuickDerivatives():
            values = norm(x)
    else:
        values = norm(x)
    losses = values.cos().sum((1, 2))
    first = torch.autograd.grad(losses, leaves, weights, create_graph=True)
    ways = [torch.randn(one.shape, generator=draw) for one in first]
    second = [
        torch.autograd.grad(one, weights, way, retain_graph=True)[0] for one, way in zip(first, ways, strict=True)
    ]
    return [values, *first], torch.stack(second)


@pytest.mark.parametrize(
    "norm",
    [
        nn.LayerNorm(8),
        nn.LayerNorm((3, 8)),
        nn.LayerNorm(8, bias=False),
        nn.LayerNorm(8, elementwise_affine=False),
        nn.GELU(),
        nn.GELU("tanh"),
    ],
    ids=["of rows", "of blocks", "without bias", "without parameters", "exact gelu", "gelu by tanh"],
)
def test_values_and_first_derivatives_are_the_same_bits_and_second_ones_agree(norm):
    for place, parameter in enumerate(norm.parameters()):
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(place))
    first, second = derivatives(norm, quick=True)
    expected, of_torch = derivatives(norm, quick=False)
    for one, other in zip(first, expected, strict=True):
        assert torch.equal(one, other)
    torch.testing.assert_close(second, of_torch, rtol=1e-5, atol=1e-5)


def test_outside_of_it_operations_are_torchs():
    with QuickDerivatives():
        pass
    x = torch.ones(1, 2, requires_grad=True)
    assert "NativeLayerNorm" in type(nn.LayerNorm(2)(x).grad_fn).__name__
    assert "GeluBackward" in type(nn.functional.gelu(x).grad_fn).__name__


NETWORK = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 1))


def plain(at, batch):
    return functional_call(NETWORK, at, (batch,)).square().squeeze(1)


def mapped(at, batch):
    return torch.vmap(lambda one: plain(at, one[None])[0])(batch)


def checkpointed(at, batch):
    return checkpoint(plain, at, batch, use_reentrant=False)


def in_autocast(at, batch):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return plain(at, batch).float()


def steepness(at, batch):
    batch = batch.clone().requires_grad_()
    (moved,) = torch.autograd.grad(plain(at, batch).sum(), batch, create_graph=True)
    return moved.square().sum(1)


def by_keyword(at, batch):
    hidden = nn.functional.linear(batch, at["0.weight"], at["0.bias"])
    normed = torch.layer_norm(input=hidden, normalized_shape=(6,), weight=at["1.weight"], bias=at["1.bias"])
    return normed.sin().sum(1)


@pytest.mark.parametrize("losses", [plain, mapped, checkpointed, in_autocast, steepness, by_keyword])
def test_derivatives_of_all_events_are_the_gradients_of_each(losses):
    """Also of losses that are mapped, computed again, of lower precision, or themselves made of gradients."""
    draw = torch.Generator().manual_seed(0)
    at = {name: torch.randn(one.shape, generator=draw) for name, one in NETWORK.named_parameters()}
    way = {name: torch.randn(one.shape, generator=draw) for name, one in at.items()}
    batch = torch.randn(5, 4, generator=draw)
    leaves = {name: one.clone().requires_grad_() for name, one in at.items()}
    expected = []
    for loss in losses(leaves, batch):
        gradient = torch.autograd.grad(
            loss, list(leaves.values()), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        expected.append(sum((one * way[name]).sum() for name, one in zip(at, gradient, strict=True)))
    found = Linearized(losses, at, [batch]).derivatives([way])[0]
    rtol = 0.02 if losses is in_autocast else 1e-4
    torch.testing.assert_close(found, torch.stack(expected), rtol=rtol, atol=1e-4)
