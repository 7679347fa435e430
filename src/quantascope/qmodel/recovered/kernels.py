"""Operations of a Q-model's forward pass in the form that is fastest on many tokens of a narrow stream.

Values and derivatives are those of the plain forms up to rounding.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

EPSILON = 1e-5
"""As in `torch.nn.functional.layer_norm`."""


class _Normalized(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, stream: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        mean = stream.mean(-1, keepdim=True)
        centred = stream - mean
        size = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
        scale = (size.square() / stream.shape[-1] + EPSILON).rsqrt()
        ctx.save_for_backward(stream, mean, scale)
        return centred.mul_(scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        stream, mean, scale = ctx.saved_tensors
        width, wanted = [stream.shape[-1]], [True, False, False]
        return torch.ops.aten.native_layer_norm_backward(gradient, stream, width, mean, scale, None, None, wanted)[
            0
        ]


def normalized(stream: Float[Tensor, "streams tokens width"]) -> Float[Tensor, "streams tokens width"]:
    """LayerNorm without parameters.

    >>> normalized(torch.tensor([[[1.0, 3.0]]])).round(decimals=4)
    tensor([[[-1.,  1.]]])
    """
    return _Normalized.apply(stream)


class _TokensLast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, stream: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(stream, weight)
        return torch.baddbmm(bias[:, :, None], weight, stream.mT)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        stream, weight = ctx.saved_tensors
        return gradient.mT @ weight, gradient @ stream, gradient.sum(-1)


def tokens_last(
    stream: Float[Tensor, "streams tokens width"],
    weight: Float[Tensor, "streams outputs width"],
    bias: Float[Tensor, "streams outputs"],
) -> Float[Tensor, "streams outputs tokens"]:
    """A linear map of few outputs for each stream, with tokens as the last dimension.

    >>> tokens_last(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2), torch.ones(1, 1))
    tensor([[[4.]]])
    """
    return _TokensLast.apply(stream, weight, bias)


class _Attended(torch.autograd.Function):
    # Scores have their keys first: along any dimension but the last, a softmax over a few tokens is twice as fast.

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        weight, read = _weight_and_read(query / math.sqrt(query.shape[-1]), key, value, bias)
        ctx.save_for_backward(query, key, value, bias, weight, read)
        return read

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        query, key, value, bias, weight, read = ctx.saved_tensors
        query = query / math.sqrt(query.shape[-1])
        if torch.is_grad_enabled():  # a derivative of this one needs what the kept results depend on
            weight, read = _weight_and_read(query, key, value, bias)
        mean = (gradient * read).sum(-1)[..., None, :]
        of_score = (value @ gradient.mT).sub_(mean).mul_(weight)
        of_query = (key.mT @ of_score).div_(math.sqrt(key.shape[-1]))
        return of_query.mT, (query.mT @ of_score.mT).mT, weight @ gradient, None


def _weight_and_read(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    weight = (key @ query.mT).add_(bias).softmax(-2)
    return weight, weight.mT @ value


def attended(
    query: Float[Tensor, "streams rows queries rank"],
    key: Float[Tensor, "streams rows keys rank"],
    value: Float[Tensor, "streams rows keys value"],
    bias: Float[Tensor, "_ keys queries"],
) -> Float[Tensor, "streams rows queries value"]:
    """One head: means of the values by the softmax of scaled products, none of those where the bias is -inf.

    >>> rows = torch.tensor([[[[0.0], [0.0]]]])
    >>> attended(rows, rows, torch.tensor([[[[1.0], [3.0]]]]), torch.tensor([[[0.0, 0.0], [-torch.inf, 0.0]]]))
    tensor([[[[1.],
              [2.]]]])
    """
    return _Attended.apply(query, key, value, bias)


class _Routed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, start: Tensor, sent: Tensor, received: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(sent, received)
        streams = len(received)
        return torch.baddbmm(start.expand(streams, -1, -1), sent.T.expand(streams, -1, -1), received)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        sent, received = ctx.saved_tensors
        of_sent = torch.zeros_like(sent)
        for own, way in zip(gradient, received, strict=True):
            of_sent.addmm_(way, own.T)
        return None, of_sent, sent.expand(len(received), -1, -1) @ gradient


def routed(
    start: Float[Tensor, "tokens width"],
    sent: Float[Tensor, "senders tokens"],
    received: Float[Tensor, "streams senders width"],
) -> Float[Tensor, "streams tokens width"]:
    """For each stream the start, which needs no gradient, plus what was sent along directions of its own.

    >>> routed(torch.ones(1, 2), torch.tensor([[3.0]]), torch.tensor([[[1.0, 0.0]]]))
    tensor([[[4., 1.]]])
    """
    return _Routed.apply(start, sent, received)
