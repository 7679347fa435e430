"""Shared by all quanta: a stream that sums messages, and messages that are scaled by activity.

The cell of a compiled quantum computes a content and a gate from its stream. Activity is downward-closed: a
quantum is at most as active as each quantum that it directly depends on.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


def routed_stream(
    start: Float[Tensor, "rows width"],
    channels: Float[Tensor, "quanta senders"],
    messages: list[Float[Tensor, "_ rows width"]],
) -> Float[Tensor, "_ rows width"]:
    """The input of each quantum: the start plus the messages it receives; one shared stream without senders.

    Messages come level by level; the columns of `channels` are the senders of all levels in turn.

    >>> sent = [torch.tensor([[[2.0]]]), torch.tensor([[[4.0]]])]
    >>> routed_stream(torch.ones(1, 1), torch.tensor([[1.0, 0.0], [1.0, 1.0]]), sent)
    tensor([[[3.]],
            [[7.]]])
    """
    stream = start[None]
    levels = channels.split([len(sent) for sent in messages], 1) if messages else ()
    for reached, sent in zip(levels, messages, strict=True):
        stream = stream + torch.tensordot(reached, sent, 1)
    return stream


def gated_message(
    activity: Float[Tensor, "quanta rows"], content: Float[Tensor, "quanta rows width"]
) -> Float[Tensor, "quanta rows width"]:
    """The content times the activity of its quantum."""
    return activity[:, :, None] * content


class Cells(nn.Module):
    """Cells of several quanta side by side, none of them shared: LayerNorm, then a GELU MLP and a linear gate.

    >>> cells = Cells(quanta=3, width=8)
    >>> content, gate = cells(torch.zeros(2, 5, 8), slice(1, 3))
    >>> content.shape, gate.shape
    (torch.Size([2, 5, 8]), torch.Size([2, 5]))
    """

    def __init__(self, *, quanta: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(quanta, 1, width))
        self.shift = nn.Parameter(torch.zeros(quanta, 1, width))
        self.up, self.up_bias = _linear(quanta, width, width), _linear(quanta, width, width, bias=True)
        self.down, self.down_bias = _linear(quanta, width, width), _linear(quanta, width, width, bias=True)
        self.gate, self.gate_bias = _linear(quanta, width, 1), _linear(quanta, width, 1, bias=True)

    def forward(
        self, state: Float[Tensor, "quanta events width"], which: slice
    ) -> tuple[Float[Tensor, "quanta events width"], Float[Tensor, "quanta events"]]:
        """Content and gate logit of a range of quanta, each from its own input."""
        normed = nn.functional.layer_norm(state, state.shape[-1:]) * self.scale[which] + self.shift[which]
        hidden = nn.functional.gelu(torch.baddbmm(self.up_bias[which], normed, self.up[which]))
        content = torch.baddbmm(self.down_bias[which], hidden, self.down[which])
        gate = torch.baddbmm(self.gate_bias[which], normed, self.gate[which]).squeeze(-1)
        return content, gate


def closed_activity(
    gate: Float[Tensor, " events"], parents: list[Float[Tensor, " events"]]
) -> Float[Tensor, " events"]:
    """The activity of a quantum: its gate's probability, but at most its least active parent's activity.

    >>> closed_activity(torch.tensor([0.0, 5.0]), [torch.tensor([1.0, 0.2]), torch.tensor([0.4, 0.9])])
    tensor([0.4000, 0.2000])
    """
    return torch.stack([gate.sigmoid(), *parents]).amin(0)


def _linear(quanta: int, fan_in: int, fan_out: int, *, bias: bool = False) -> nn.Parameter:
    """Weights or biases of one linear map per quantum, initialized like `nn.Linear`."""
    bound = 1 / math.sqrt(fan_in)
    return nn.Parameter(torch.empty(quanta, 1 if bias else fan_in, fan_out).uniform_(-bound, bound))
