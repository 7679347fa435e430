"""The quick forms of a Q-model's operations against their plain forms, with gradients."""

import math

import pytest
import torch
from torch import Tensor

from quantascope.qmodel.recovered.kernels import attended, normalized, routed, tokens_last
from quantascope.qmodel.recovered.packing import packing_of
from quantascope.qmodel.recovered.rows import moved_rows
from quantascope.tasks.events import Events

CLOSED = torch.tensor([[[0.0, 0.0, 0.0], [-math.inf, 0.0, 0.0], [-math.inf, -math.inf, 0.0]]])
"""Key by query: no query reads what follows it."""


def plainly_normalized(stream: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(stream, stream.shape[-1:])


def plainly_tokens_last(stream: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.einsum("sti,soi->sot", stream, weight) + bias[:, :, None]


def attended_causally(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attended(query, key, value, CLOSED)


def plainly_attended(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def routed_from_zero(sent: Tensor, received: Tensor) -> Tensor:
    return routed(torch.zeros(sent.shape[1], received.shape[2]), sent, received)


def plainly_routed(sent: Tensor, received: Tensor) -> Tensor:
    return torch.einsum("nt,snw->stw", sent, received)


FORMS = [
    (normalized, plainly_normalized, [(2, 5, 8)]),
    (tokens_last, plainly_tokens_last, [(2, 5, 8), (2, 3, 8), (2, 3)]),
    (attended_causally, plainly_attended, [(2, 4, 3, 5), (2, 4, 3, 5), (2, 4, 3, 6)]),
    (routed_from_zero, plainly_routed, [(7, 5), (2, 7, 8)]),
]


@pytest.mark.parametrize(("quick", "plain", "shapes"), FORMS)
def test_quick_forms_have_the_values_and_gradients_of_plain_ones(quick, plain, shapes):
    draw = torch.Generator().manual_seed(0)
    leaves = [torch.randn(shape, generator=draw).requires_grad_() for shape in shapes]
    found, expected = quick(*leaves), plain(*leaves)
    torch.testing.assert_close(found, expected)
    way = torch.randn(expected.shape, generator=draw)
    for one, other in zip(
        torch.autograd.grad(found, leaves, way), torch.autograd.grad(expected, leaves, way), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("quick", "plain", "shapes"), FORMS)
def test_quick_forms_have_the_second_derivatives_of_plain_ones(quick, plain, shapes):
    draw = torch.Generator().manual_seed(0)
    leaves = [torch.randn(shape, generator=draw).requires_grad_() for shape in shapes]

    def slope_of_slopes(form):
        slopes = torch.autograd.grad(form(*leaves).sin().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(slope.square().sum() for slope in slopes), leaves, allow_unused=True)

    for one, other in zip(slope_of_slopes(quick), slope_of_slopes(plain), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_packed_tokens_read_what_precedes_them_in_their_example_and_nothing_else():
    lengths = [2, 5, 1, 3, 5, 2, 1]
    events = Events.of(prompts=[[1] * length for length in lengths], outputs=[[9]] * len(lengths))
    packing = packing_of(events)
    assert packing.rows == 4  # 5, 5, 3 + 2, 2 + 1 + 1
    tokens = torch.randn(1, sum(lengths), 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    packed = moved_rows(tokens, packing.token, packing.place).unflatten(1, (packing.rows, -1))
    read = attended(packed, packed, packed, packing.bias)
    read = moved_rows(read.flatten(1, 2), packing.place, packing.token)
    alone = torch.cat([plainly_attended(one, one, one) for one in tokens.split(lengths, 1)], 1)
    torch.testing.assert_close(read, alone)
    way = torch.randn(alone.shape, generator=torch.Generator().manual_seed(1))
    (found,), (expected,) = (torch.autograd.grad(one, tokens, way, retain_graph=True) for one in (read, alone))
    torch.testing.assert_close(found, expected)


def test_examples_of_one_length_share_one_mask():
    packing = packing_of(Events.of(prompts=[[1, 2], [1, 3]], outputs=[[5], [6]]))
    assert (packing.rows, len(packing.bias)) == (2, 1)
