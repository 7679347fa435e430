"""`Packing`: several short examples side by side in one row, for causal reads without much padding.

A token reads itself and earlier tokens of its own example. A place without a token reads only itself, so that
whatever stands there reaches no token, and no token's gradient.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class Packing:
    """Where the tokens of events stand in packed rows, and which places a place reads.

    `place` has the place of each token, `token` the token at each place, or 0; `bias` is 0 or -inf.
    """

    place: Int[Tensor, " tokens"]
    token: Int[Tensor, " places"]
    bias: Float[Tensor, "rows keys queries"]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.token) // self.bias.shape[-1]


@lru_cache(maxsize=4)
def packing_of(events: Events) -> Packing:
    """The packing of a set of events; the last few are kept for the next pass.

    >>> events = Events.of(prompts=[[1], [1], [1, 2, 3]], outputs=[[5], [6, 7], [9]])
    >>> packing = packing_of(events)
    >>> packing.rows, packing.place, packing.token
    (2, tensor([5, 3, 4, 0, 1, 2]), tensor([3, 4, 5, 1, 2, 0]))
    """
    device, length = events.tokens.device, events.tokens.shape[1]
    first = torch.tensor(_first_places(events.length.tolist(), length)).to(device)
    tokens = torch.arange(int(events.length.sum()), device=device)
    within = tokens - (events.length.cumsum(0) - events.length).repeat_interleave(events.length)
    place = first.repeat_interleave(events.length) + within
    places = int(place.max()) // length * length + length
    # The places without a token are examples of their own.
    own = -1 - torch.arange(places, device=device)
    example = torch.arange(len(events), device=device).repeat_interleave(events.length)
    own = own.index_copy(0, place, example).reshape(-1, length)
    column = torch.arange(length, device=device)
    read = (own[:, :, None] == own[:, None, :]) & (column[:, None] <= column)
    if bool((own == own[:, :1]).all()):
        read = read[:1]
    return Packing(
        place,
        torch.zeros(places, dtype=torch.long, device=device).index_copy(0, place, tokens),
        torch.zeros(read.shape, device=device).masked_fill(~read, -math.inf),
    )


def _first_places(lengths: Sequence[int], length: int) -> list[int]:
    """The place of each example's first token: a row takes the longest example that fits, while one does."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    left = [lengths[example] for example in order]
    first, row = [0] * len(lengths), 0
    while order:
        column = 0
        while fitting := bisect_right(left, length - column):
            first[order.pop(fitting - 1)] = row * length + column
            column += left.pop(fitting - 1)
        row += 1
    return first
