"""Message channels from earlier to later layers: hard in the forward pass, soft in the backward pass.

Every quantum of an earlier layer may send to every quantum of a later one, so any selection is acyclic. A channel
is open if σ(logit) > 1/2; its gradient is the gradient of σ(logit), so that a closed channel can open again.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from quantascope.quanta.graph import Edge, EdgeKind


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, score: Tensor, threshold: float, bandwidth: float) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(score)
        ctx.threshold, ctx.bandwidth = threshold, bandwidth
        return (score > threshold).to(score.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (score,) = ctx.saved_tensors
        soft = (score - ctx.threshold).div_(ctx.bandwidth).sigmoid_()
        return torch.ops.aten.sigmoid_backward(gradient, soft).div_(ctx.bandwidth), None, None


def hard_step(
    score: Float[Tensor, "*shape"], *, threshold: float = 0.0, bandwidth: float = 1.0
) -> Float[Tensor, "*shape"]:
    """1 above the threshold and 0 elsewhere, with the gradient of σ((score - threshold) / bandwidth).

    >>> logit = torch.tensor([2.0, -2.0], requires_grad=True)
    >>> opened = hard_step(logit)
    >>> opened.tolist(), torch.autograd.grad(opened.sum(), logit)[0].gt(0).tolist()
    ([1.0, 0.0], [True, True])
    """
    return _Step.apply(score, threshold, bandwidth)


class Channels(nn.Module):
    """Channels between quanta, with children as rows and parents as columns; `layer[q]` is the layer of quantum q.

    >>> channels = Channels(torch.tensor([0, 0, 1, 2]), start=1.0)
    >>> channels.count, channels().int().tolist()[3]
    (5, [1, 1, 1, 0])
    """

    def __init__(self, layer: Int[Tensor, " quanta"], *, start: float) -> None:
        super().__init__()
        self.possible: Tensor
        self.register_buffer("possible", layer[:, None] > layer[None, :], persistent=False)
        self.logit = nn.Parameter(torch.full((len(layer), len(layer)), start))

    @property
    def count(self) -> int:
        """Number of possible channels."""
        return int(self.possible.sum())

    @property
    def open(self) -> Bool[Tensor, "quanta quanta"]:
        """The mask of selected channels."""
        return (self.logit > 0) & self.possible

    @property
    def probability(self) -> Float[Tensor, " channels"]:
        """σ(logit) of each possible channel."""
        return self.logit[self.possible].sigmoid()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The selected channels as edges of a Q-graph."""
        return tuple(Edge(parent, child, EdgeKind.CHANNEL) for child, parent in self.open.nonzero().tolist())

    def forward(self) -> Float[Tensor, "quanta quanta"]:
        """1 for selected channels, with the gradient of their probability."""
        return hard_step(self.logit) * self.possible
