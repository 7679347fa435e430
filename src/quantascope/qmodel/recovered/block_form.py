"""The block form of a recovered Q-model: a layer reads and adds as a block of a Transformer does.

With the layer's output map O, numbers ρ_q for each dimension of the read, and a number τ of the layer:

    c_q   as in the paper's form, with biases, and queries times exp(τ (1 − mean existence of the layer's quanta))
    gates and writers see LN(h_q + c_q O)
    m_q = existence_q g_q ((ρ_q ⊙ c_q) O + Σ_w γ_w φ_w v_w)

So an open quantum passes on what it read by a linear way, for which the paper's form needs pairs of writers. While
a source trains, its attention sharpens, hence τ; it has no effect on the finished model.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from quantascope.qmodel.recovered.kernels import normalized


class BlockForm(nn.Module):
    """The parameters of the block form beyond those of the paper's."""

    def __init__(self, *, blocks: int, quanta: int, width: int, rank: int, value: int) -> None:
        super().__init__()
        self.rank = rank
        self.bias = nn.Parameter(torch.zeros(blocks, 2 * rank + value))
        self.sharpness = nn.Parameter(torch.zeros(blocks))
        self.out = nn.Parameter(torch.empty(blocks, value, width).uniform_(-1, 1) / value**0.5)
        self.passed = nn.Parameter(torch.full((quanta, 1, value), 0.5))

    def projected(
        self, projected: Float[Tensor, "streams tokens read"], block: int, exists: Float[Tensor, " quanta"]
    ) -> Float[Tensor, "streams tokens read"]:
        """Queries, keys and values of a layer with biases, queries scaled by how much of the layer exists."""
        missing = (1 - exists).sum() / max(1, len(exists))
        scale = projected.new_ones(projected.shape[-1])
        scale = torch.cat([(self.sharpness[block] * missing).exp() * scale[: self.rank], scale[self.rank :]])
        return (projected + self.bias[block]) * scale

    def added(
        self, state: Float[Tensor, "streams tokens width"], read: Float[Tensor, "streams tokens value"], block: int
    ) -> Float[Tensor, "streams tokens width"]:
        """What gates and writers see: the stream with the mapped read, normalised."""
        return normalized(state + read @ self.out[block])

    def passed_on(
        self, read: Float[Tensor, "streams tokens value"], which: slice
    ) -> Float[Tensor, "quanta value tokens"]:
        """What each quantum of a layer passes on along the rows of the output map, if it is open."""
        return (read * self.passed[which]).mT
