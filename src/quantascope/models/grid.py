"""`Grid`: the positions of the valid tokens of `Events`, and the attention mask."""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows that attend: their places among the valid tokens and in a grid of examples of their own."""

    row: Int[Tensor, " queries"]
    slot: Int[Tensor, " queries"]
    bias: Float[Tensor, "examples queries_per_example length"]


@dataclass(frozen=True, eq=False)
class Grid:
    """The positions of the valid tokens, and the attention mask."""

    token: Int[Tensor, " tokens"]
    position: Int[Tensor, " tokens"]
    slot: Int[Tensor, " tokens"]
    all_rows: Queries
    event_rows: Queries


@lru_cache(maxsize=32)
def grid_of(events: Events) -> Grid:
    """The grid of a set of events (cached for the next pass)."""
    examples, length = events.tokens.shape
    device = events.tokens.device
    place = torch.arange(length, device=device)
    starts = torch.zeros(examples, dtype=torch.long, device=device)
    first = starts.index_put((events.example,), events.position - events.index)
    widest = int(events.index.max()) + 1
    reach = first[:, None] + torch.arange(widest, device=device)
    return Grid(
        token=events.tokens.reshape(-1)[events.rows],
        position=events.rows % length,
        slot=events.rows,
        all_rows=Queries(
            row=torch.arange(len(events.rows), device=device),
            slot=events.rows,
            bias=_closed(place > place[:, None]).expand(examples, length, length),
        ),
        event_rows=Queries(
            row=events.event_rows,
            slot=events.example * widest + events.index,
            bias=_closed(place > reach[:, :, None]),
        ),
    )


def _closed(hidden: Bool[Tensor, "..."]) -> Float[Tensor, "..."]:
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, -math.inf)


def spread(
    rows: Float[Tensor, "rows width"], slot: Int[Tensor, " rows"], examples: int, length: int
) -> Float[Tensor, "examples length width"]:
    """Packed rows on the padded grid of their examples."""
    grid = rows.new_zeros(examples * length, rows.shape[1])
    return grid.index_copy_(0, slot, rows).reshape(examples, length, -1)
