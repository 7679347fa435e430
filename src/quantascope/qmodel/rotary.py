"""Rotary positions (Su et al., 2021): queries and keys are rotated by their positions.

Dimensions i and i + n/2 are rotated together by position · base^(-2i/n), so that dot products depend only on the
distance between positions. An odd last dimension is not rotated.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rotated(rows: Float[Tensor, "examples length rank"], base: float) -> Float[Tensor, "examples length rank"]:
    """Rows for positions 0, 1, …, each rotated by its position.

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
