"""The quick second derivative of layer normalization against torch's own."""

import pytest
import torch
from torch import nn

from quantascope.discovery.layer_norm import QuickLayerNorm


def derivatives(norm: nn.Module, quick: bool):
    """Values, first derivatives, and the derivative of their product with a direction by the events' weights."""
    draw = torch.Generator().manual_seed(0)
    x, weights = torch.randn(6, 3, 8, generator=draw).requires_grad_(), torch.ones(6, requires_grad=True)
    leaves = [x, *norm.parameters()]
    if quick:
        with QuickLayerNorm():
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
    ],
    ids=["of rows", "of blocks", "without bias", "without parameters"],
)
def test_values_and_first_derivatives_are_the_same_bits_and_second_ones_agree(norm):
    for place, parameter in enumerate(norm.parameters()):
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(place))
    first, second = derivatives(norm, quick=True)
    expected, of_torch = derivatives(norm, quick=False)
    for one, other in zip(first, expected, strict=True):
        assert torch.equal(one, other)
    torch.testing.assert_close(second, of_torch, rtol=1e-5, atol=1e-5)


def test_outside_of_it_layer_normalization_is_torchs():
    with QuickLayerNorm():
        pass
    assert "NativeLayerNorm" in type(nn.LayerNorm(2)(torch.ones(1, 2)).grad_fn).__name__
