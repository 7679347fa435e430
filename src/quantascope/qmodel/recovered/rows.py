"""Selects distinct rows of packed tokens, so that their gradient is written in place instead of summed."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


class _SelectedRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, rows: Tensor, dim: int) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(rows)
        ctx.shape, ctx.dim = tokens.shape, dim
        return tokens.index_select(dim, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (rows,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_copy_(ctx.dim, rows, gradient), None, None


def selected_rows(
    tokens: Float[Tensor, "..."], rows: Int[Tensor, " rows"], *, dim: int = 0
) -> Float[Tensor, "..."]:
    """Distinct rows along a dimension; differentiates several times faster than indexing that allows repeats.

    >>> tokens = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> torch.autograd.grad(selected_rows(tokens, torch.tensor([2, 0])).sum(), tokens)[0]
    tensor([1., 0., 1.])
    """
    return _SelectedRows.apply(tokens, rows, dim)
