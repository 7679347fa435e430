"""Layer normalization whose second derivative with respect to event weights is one kernel.

    dx = A (γ dy),   A = (1 - 1/n - x̂ x̂ᵀ/n) / σ
    Jv of it: γ A ẋ + γ̇ x̂ + β̇

A is symmetric, so the kernel of the first derivative also computes the second one, which torch composes of many
elementwise operations. Values and first derivatives are bit-identical to torch's. The event weights enter `dx`
only through `dy`, and only this derivative is implemented: none with respect to x or γ.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_backward = torch.ops.aten.native_layer_norm_backward


def quick_layer_norm(
    mode: Any,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """`torch.layer_norm` within a `QuickDerivatives` mode."""
    return _LayerNorm.apply(input, weight, bias, list(normalized_shape), eps, mode)  # pyright: ignore[reportReturnType]


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        shape: list[int],
        eps: float,
        mode: Any,
    ) -> Tensor:
        normed, mean, scale = torch.native_layer_norm(x, shape, weight, bias, eps)
        # In torch's own order: a checkpointed block is computed again by torch's own.
        ctx.save_for_backward(bias, x, weight, mean, scale)
        ctx.shape, ctx.mode = shape, mode
        return normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        bias, x, weight, mean, scale = ctx.saved_tensors
        if ctx.mode.entered:  # the losses are made of this gradient, which moves with x and γ
            asked = [True, weight is not None, bias is not None]
            found = _backward(*gradients, x, ctx.shape, mean, scale, weight, bias, asked)
        else:
            found = _Backward.apply(*gradients, x, weight, bias, mean, scale, ctx.shape)
        return *found, None, None, None  # pyright: ignore[reportGeneralTypeIssues]


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gradient: Tensor,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        scale: Tensor,
        shape: list[int],
    ) -> tuple[Tensor | None, ...]:
        ctx.save_for_backward(x, weight, mean, scale)
        ctx.shape = shape
        ctx.set_materialize_grads(False)
        asked = [True, weight is not None, bias is not None]
        return _backward(gradient, x, shape, mean, scale, weight, bias, asked)

    @staticmethod
    def backward(ctx: Any, *ways: Tensor | None) -> Any:
        x, weight, mean, scale = ctx.saved_tensors
        along_x, along_weight, along_bias = ways
        parts: list[Tensor] = []
        if along_x is not None:
            moved = _backward(along_x, x, ctx.shape, mean, scale, None, None, [True, False, False])[0]
            parts.append(moved if weight is None else moved * weight)
        if along_weight is not None:
            parts.append((x - mean) * scale * along_weight)
        if along_bias is not None:
            parts.append(along_bias.expand_as(x))
        return (sum(parts[1:], parts[0]) if parts else None, *(None,) * 6)
