"""Rotary positions (Su et al., 2021): what asks and what is asked turn with their positions.

Dimensions i and i + n/2 turn together, by position · base^(-2i/n), so that products depend on the distance of
two positions alone. An odd last dimension does not turn.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rotated(rows: Float[Tensor, "examples length rank"], base: float) -> Float[Tensor, "examples length rank"]:
    """Rows of the positions 0, 1, …, each turned by its own.

    >>> rotated(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), 10000.0).round(decimals=4)
    tensor([[[1.0000, 0.0000],
             [0.5403, 0.8415]]])
    """
    length, rank = rows.shape[1:]
    pairs = rank // 2
    place = torch.arange(length, device=rows.device, dtype=rows.dtype)
    turn = base ** -(torch.arange(pairs, device=rows.device, dtype=rows.dtype) / max(pairs, 1))
    cos, sin = (place[:, None] * turn).cos(), (place[:, None] * turn).sin()
    first, second, rest = rows.split([pairs, pairs, rank - 2 * pairs], -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)
