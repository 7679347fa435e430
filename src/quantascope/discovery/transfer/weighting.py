"""Halves of a set of events, and training weights that change the demand for one half.

    raised    A's weight times three, all weights rescaled so that their mean stays one
    lowered   A's weight divided by three, rescaled likewise
    outside   A's weight times three, others unchanged: nothing outside loses weight, but the total grows

The demand for a computation that the events share is proportional to their weights. The theory T ∝ κ/p then
predicts how much earlier it is acquired: by the mean weight of the events that need it. Nothing is fitted.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.runs.errors import InvalidConfig

Change = Literal["raised", "lowered", "outside"]
FACTOR = 3.0
Members = Bool[np.ndarray, " events"]


@dataclass(frozen=True, eq=False)
class Halves:
    """A set of events split in two: the events whose weight is changed, and the events that are observed."""

    taught: Members
    asked: Members

    @property
    def members(self) -> Members:
        """The whole set."""
        return self.taught | self.asked


def halves(members: Members, group: Int[np.ndarray, " events"], rng: np.random.Generator) -> Halves:
    """Split a set's groups, such as its inputs, into random halves; no group is on both sides.

    >>> cut = halves(np.array([True, True, True, False]), np.array([0, 0, 1, 2]), np.random.default_rng(0))
    >>> bool(cut.taught[0] == cut.taught[1] != cut.taught[2]), cut.members.tolist()
    (True, [True, True, True, False])
    """
    groups = np.unique(group[members])
    if len(groups) < 2:
        raise InvalidConfig(f"a set of {int(members.sum())} events in {len(groups)} group cannot be split")
    chosen = rng.permutation(groups)[: len(groups) // 2]
    taught = members & np.isin(group, chosen)
    return Halves(taught, members & ~taught)


def changed_weights(taught: Members, change: Change, factor: float = FACTOR) -> Float[np.ndarray, " events"]:
    """The weight of every event under a change of the taught ones.

    >>> changed_weights(np.array([True, False]), "raised"), changed_weights(np.array([True, False]), "outside")
    (array([1.5, 0.5]), array([3., 1.]))
    """
    if change not in get_args(Change):
        raise InvalidConfig(f"unknown change '{change}'; known changes are {', '.join(get_args(Change))}")
    weights = np.where(taught, 1 / factor if change == "lowered" else factor, 1.0)
    return weights if change == "outside" else weights / weights.mean()


def predicted_shift(weights: Float[np.ndarray, " events"], needed_by: Members) -> float:
    """Predicted log T'/T of a computation that these events share: minus the log of their mean weight.

    >>> round(predicted_shift(np.array([3.0, 1.0, 1.0]), np.array([True, True, False])), 3)
    -0.693
    """
    return -float(np.log(weights[needed_by].mean()))
