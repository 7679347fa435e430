"""Sketches of checkpoints: a few numbers that preserve distances between checkpoints.

A whole series does not fit in memory. Each checkpoint is therefore folded into `BUCKETS` sums of its weights with
fixed random signs (a count sketch). Inner products of sketches are unbiased estimates of inner products of
checkpoints, with a relative error of about sqrt(2 / BUCKETS) = 0.6 %. A model with fewer parameters than buckets
is kept exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

BUCKETS = 65_536


@dataclass(frozen=True, eq=False)
class Sketch:
    """The sketch of centred matrices, which distinguish training runs, and the sketch of everything else."""

    matrices: Float[np.ndarray, " buckets"]
    others: Float[np.ndarray, " buckets"]
    entries: int
    """Number of entries of the matrices."""


def sketch(tensors: Mapping[str, Tensor], buckets: int = BUCKETS) -> Sketch:
    """The sketch of one checkpoint; checkpoints with the same names and shapes share their random signs.

    >>> one, other = (sketch({"weight": torch.full((2, 3), value)}) for value in (1.0, 2.0))
    >>> round(float(distances([one, other])[0, 1] ** 2), 9)  # six entries that differ by 1
    6.0
    """
    signs = torch.Generator().manual_seed(0)
    matrices, others = _Fold(buckets, signs), _Fold(buckets, signs)
    for _, tensor in sorted(tensors.items()):
        tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        if tensor.ndim < 2 or not tensor.is_floating_point():
            others.add(tensor)
            continue
        mean = tensor.mean(dtype=torch.float64)
        matrices.add(tensor, mean)
        others.add((mean * tensor.numel() ** 0.5).reshape(1))
    return Sketch(matrices.sums.numpy(), others.sums.numpy(), matrices.entries)


class _Fold:
    """Entries added to buckets in turn, each with a random sign."""

    def __init__(self, buckets: int, signs: torch.Generator) -> None:
        self.sums, self.entries, self._signs = torch.zeros(buckets, dtype=torch.float64), 0, signs

    def add(self, tensor: Tensor, mean: Tensor | float = 0.0) -> None:
        buckets = len(self.sums)
        for piece in tensor.detach().cpu().flatten().split(buckets):
            signs = torch.randint(2, (len(piece),), generator=self._signs) * 2 - 1
            signed = (piece.double() - mean) * signs
            first = self.entries % buckets
            until_end = min(len(piece), buckets - first)
            self.sums[first : first + until_end] += signed[:until_end]
            self.sums[: len(piece) - until_end] += signed[until_end:]
            self.entries += len(piece)


def products(sketches: list[Sketch]) -> Float[np.ndarray, "checkpoints checkpoints"]:
    """Inner products of the matrices of every two checkpoints."""
    rows = np.stack([one.matrices for one in sketches])
    return rows @ rows.T


def distances(sketches: list[Sketch]) -> Float[np.ndarray, "checkpoints checkpoints"]:
    """Euclidean distances between every two checkpoints.

    They are computed relative to the middle checkpoint, because late differences are small compared with the
    weights.
    """
    rows = _rows(sketches)
    rows -= rows[len(rows) // 2].copy()
    square = rows @ rows.T
    norms = np.diag(square)
    return np.sqrt(np.maximum(norms[:, None] + norms[None] - 2 * square, 0))


def norms(sketches: list[Sketch]) -> Float[np.ndarray, " checkpoints"]:
    """Euclidean norms of all weights."""
    return np.linalg.norm(_rows(sketches), axis=1)


def _rows(sketches: list[Sketch]) -> Float[np.ndarray, "checkpoints sums"]:
    return np.stack([np.concatenate([one.matrices, one.others]) for one in sketches])
