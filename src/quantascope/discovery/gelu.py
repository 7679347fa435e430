"""GELU whose first derivative is computed once for all directions.

    dx = dy · gelu'(x)

The event weights enter `dx` only through `dy`, so its derivative along every direction is a product with gelu'(x).
In float32 and float64, values and first derivatives are bit-identical to torch's.
"""

from typing import Any

import torch
from torch import Tensor

_backward = torch.ops.aten.gelu_backward


def quick_gelu(mode: Any, input: Tensor, approximate: str = "none") -> Tensor:
    """`torch.nn.functional.gelu` within a `QuickDerivatives` mode."""
    return _Gelu.apply(input, approximate, mode)  # pyright: ignore[reportReturnType]


class _Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, approximate: str, mode: Any) -> Tensor:
        ctx.save_for_backward(x)
        ctx.approximate, ctx.mode = approximate, mode
        return torch.nn.functional.gelu(x, approximate=approximate)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (x,), (gradient,) = ctx.saved_tensors, gradients
        if ctx.mode.entered:  # the losses are made of this gradient, which moves with x
            return _backward(gradient, x, approximate=ctx.approximate), None, None
        slope = _backward(torch.ones_like(x), x.detach(), approximate=ctx.approximate)
        return gradient * slope, None, None
