"""The prerequisite relation as compressed rows of integers, and its levels by Kahn's algorithm.

A million quanta take a few megabytes this way, and whole levels are handled at once in numpy.
"""

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from jaxtyping import Int

from quantascope.runs.errors import InvalidConfig

# Below this width a Python loop over a level beats a dozen numpy calls (a long chain has a million levels).
_NARROW_LEVEL = 48
_LONGEST_CYCLE_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Relation:
    """Neighbours in compressed rows: those of quantum q are `target[start[q] : start[q + 1]]`, ascending."""

    start: Int[np.ndarray, " rows"]
    target: Int[np.ndarray, " edges"]

    @classmethod
    def from_pairs(cls, size: int, pairs: Int[np.ndarray, "edges 2"]) -> "Relation":
        """Rows over the first column of pairs that are sorted by first, then second column."""
        start = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=size))])
        return cls(frozen(start), frozen(np.ascontiguousarray(pairs[:, 1])))

    def of(self, quantum: SupportsIndex) -> Int[np.ndarray, " neighbours"]:
        row = int(quantum)
        return self.target[self.start[row] : self.start[row + 1]]

    def of_all(self, quanta: Int[np.ndarray, " quanta"]) -> Int[np.ndarray, " neighbours"]:
        """The rows of several quanta, concatenated."""
        lengths = self.start[quanta + 1] - self.start[quanta]
        ends = np.cumsum(lengths)
        shift = np.repeat(self.start[quanta] - ends + lengths, lengths)
        return self.target[shift + np.arange(shift.size)]


def levels(predecessor: Relation, successor: Relation) -> Int[np.ndarray, " quanta"]:
    """The longest chain below each quantum: its level is where its last prerequisite falls away."""
    missing = np.diff(predecessor.start)
    heights = np.full(missing.size, -1, dtype=np.int64)
    level, wave = 0, np.flatnonzero(missing == 0)
    while wave.size:
        if wave.size < _NARROW_LEVEL:
            level, wave = _narrow_levels(level, wave.tolist(), successor, missing, heights)
            continue
        heights[wave] = level
        freed = successor.of_all(wave)
        np.subtract.at(missing, freed, 1)
        level, wave = level + 1, distinct(freed[missing[freed] == 0])
    left = np.flatnonzero(missing > 0)
    if left.size:
        raise InvalidConfig(_cycle_message(int(left[0]), predecessor, missing))
    return heights


def _narrow_levels(
    level: int,
    wave: list[int],
    successor: Relation,
    missing: Int[np.ndarray, " quanta"],
    heights: Int[np.ndarray, " quanta"],
) -> tuple[int, Int[np.ndarray, " wave"]]:
    """Advance `missing` and `heights` in place until a level is wide again or none is left."""
    start, target = successor.start.data, successor.target.data
    lacks, height = missing.data, heights.data
    while wave and len(wave) < _NARROW_LEVEL:
        following = []
        for r in wave:
            height[r] = level
            for edge in range(start[r], start[r + 1]):
                q = target[edge]
                lacks[q] -= 1
                if lacks[q] == 0:
                    following.append(q)
        level, wave = level + 1, following
    return level, np.array(wave, dtype=np.int64)


def _cycle_message(quantum: int, predecessor: Relation, missing: Int[np.ndarray, " quanta"]) -> str:
    """Walk back along unmet prerequisites: each has another such, so that the walk closes."""
    position: dict[int, int] = {}
    while quantum not in position:
        position[quantum] = len(position)
        unmet = predecessor.of(quantum)
        quantum = int(unmet[missing[unmet] > 0][0])
    cycle = [quantum, *reversed(list(position)[position[quantum] :])]
    shown = [str(q) for q in cycle]
    if len(shown) > _LONGEST_CYCLE_SHOWN:
        shown = [*shown[: _LONGEST_CYCLE_SHOWN - 1], f"… ({len(cycle) - 1} quanta)", shown[-1]]
    return f"the prerequisites form the cycle {' -> '.join(shown)}; remove one of these pairs"


def frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def distinct(values: Int[np.ndarray, " values"]) -> Int[np.ndarray, " distinct"]:
    """Each value once, ascending. (np.unique hashes integers since numpy 2.3, eight times slower here.)"""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) > 0]
