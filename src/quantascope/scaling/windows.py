"""Selects the evaluations for a fit by rules that are fixed before a run (paper, appendices D.2 and D.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from quantascope.runs.errors import InvalidConfig


def median_ending_at(
    step: Int[np.ndarray, " evaluations"],
    values: Float[np.ndarray, " evaluations"],
    *,
    end: int,
    length: int,
) -> float:
    """Median of the evaluations in the `length` steps that end at a checkpoint, both ends included.

    >>> median_ending_at(np.array([0, 10, 20, 30]), np.array([9.0, 1.0, 3.0, 2.0]), end=30, length=20)
    2.0
    """
    inside = (step <= end) & (step >= end - length)
    if not inside.any():
        raise InvalidConfig(
            f"the window of {length} steps that ends at {end} holds no evaluation (they run from "
            f"{step[0]} to {step[-1]}); move or widen it, or evaluate more often"
        )
    return float(np.median(values[inside]))


def last_stable(
    step: Int[np.ndarray, " evaluations"],
    loss: Float[np.ndarray, " evaluations"],
    *,
    checkpoints: Sequence[int],
    length: int,
    tolerance: float,
) -> int:
    """The last checkpoint whose windowed loss is within `tolerance` of the lowest so far; else the first.

    >>> loss = np.array([1.0, 0.8, 0.7, 2.0])
    >>> last_stable(np.arange(4), loss, checkpoints=[1, 2, 3], length=0, tolerance=0.1)
    2
    """
    found, lowest = checkpoints[0], np.inf
    for checkpoint in checkpoints:
        here = median_ending_at(step, loss, end=checkpoint, length=length)
        lowest = min(lowest, here)
        if here <= lowest * (1 + tolerance):
            found = checkpoint
    return found


def median_of_neighbours(values: Float[np.ndarray, " evaluations"]) -> Float[np.ndarray, " evaluations"]:
    """Median of each value and its immediate neighbours; two values at either end. NaN beside a NaN.

    >>> median_of_neighbours(np.array([1.0, 5.0, 3.0, 3.0])).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    near = [values[max(0, index - 1) : index + 2] for index in range(len(values))]
    return np.array([np.median(some) for some in near])


@dataclass(frozen=True)
class LearningWindow:
    """Indices of the first and the last evaluation of the central learning regime."""

    first: int
    last: int

    def halves(self, step: Int[np.ndarray, " evaluations"]) -> tuple["LearningWindow", "LearningWindow"]:
        """Evaluations before and after the geometric mean of the endpoints."""
        middle = np.sqrt(float(step[self.first]) * float(step[self.last]))
        split = self.first + int(np.sum(step[self.first : self.last + 1] <= middle))
        return LearningWindow(self.first, split - 1), LearningWindow(split, self.last)

    @property
    def rows(self) -> slice:
        """The evaluations as a slice."""
        return slice(self.first, self.last + 1)


def learning_window(
    loss: Float[np.ndarray, " evaluations"],
    acquired: Int[np.ndarray, " evaluations"],
    *,
    start_event: int,
    patience: int,
    improvement: float,
) -> LearningWindow:
    """From the `start_event`-th increase of the acquired count to the best loss before patience ends.

    A new best loss must improve by the share `improvement`; `patience` evaluations without one end the window at
    the best. If training ends first, so does the window, at the best.

    >>> loss, acquired = np.array([1.0, 0.9, 0.8, 0.7, 0.7, 0.7]), np.array([0, 1, 2, 3, 3, 3])
    >>> learning_window(loss, acquired, start_event=1, patience=2, improvement=0.01)
    LearningWindow(first=1, last=3)
    """
    events = np.flatnonzero(np.diff(acquired) > 0) + 1
    if len(events) < start_event:
        raise InvalidConfig(
            f"the window starts at acquisition {start_event}, but there were {len(events)}; train longer or start "
            "it earlier"
        )
    first = best = int(events[start_event - 1])
    for index in range(first + 1, len(loss)):
        if loss[index] < loss[best] * (1 - improvement):
            best = index
        elif index - best >= patience:
            break
    if best - first + 1 < 3:
        raise InvalidConfig(
            f"the window holds {best - first + 1} evaluations, from index {first} to {best}; evaluate more often "
            "or raise the patience"
        )
    return LearningWindow(first, best)
