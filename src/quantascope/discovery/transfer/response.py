"""The response to a change of weights: effects on losses, shifts of acquisition, and effects on other sets.

effect   decrease of an event's loss relative to the unweighted run, averaged over training
shift    log T'/T, T the step at which the mean loss of events is halfway down its unweighted fall
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.discovery.transfer.matching import Contexts, alike_in_loss, match_by_context, match_by_curve
from quantascope.discovery.transfer.weighting import Change, Halves, changed_weights, predicted_shift
from quantascope.sources.retraining import EventCurves


@dataclass(frozen=True, kw_only=True)
class Response:
    """The outcome of one retraining.

    Three shares of the asked events, and the mean gain of these events beyond their controls, NaN without any:

        exact       controls agree in the most specific context     beyond_exact
        same_word   controls have the same output word              beyond_word
        alike       and a like loss curve                           beyond_curve

    `imbalance` is by how much more the loss of the asked events falls, without any change, than that of their
    controls of the same word; `curve_imbalance` is the same for those of like loss curve.
    """

    change: Change
    size: int
    taught: float
    asked: float
    control: float
    outside: float
    shift: float
    control_shift: float
    predicted: float
    predicted_control: float
    estimated: float
    estimated_control: float
    estimate_correlation: float
    exact: float
    same_word: float
    alike: float
    beyond_exact: float
    beyond_word: float
    beyond_curve: float
    imbalance: float
    curve_imbalance: float

    @property
    def transfer(self) -> float:
        """The gain of the asked half beyond its controls, in the direction of the change."""
        return self._sign * (self.asked - self.control)

    @property
    def exact_transfer(self) -> float:
        """The same gain for asked events whose controls agree in the most specific context."""
        return self._sign * self.beyond_exact

    @property
    def word_transfer(self) -> float:
        """The same gain for asked events whose controls have the same output word."""
        return self._sign * self.beyond_word

    @property
    def curve_transfer(self) -> float:
        """The same gain for asked events with controls of the same output word and of like loss curve."""
        return self._sign * self.beyond_curve

    @property
    def estimated_transfer(self) -> float:
        """The same gain by the first-order estimate."""
        return self._sign * (self.estimated - self.estimated_control)

    @property
    def _sign(self) -> int:
        return -1 if self.change == "lowered" else 1


@dataclass(frozen=True, eq=False)
class Subject:
    """The reference for responses of one source: its unweighted run, and the contexts of its events.

    At `word_level` of the contexts events share no more than their output word; loss curves are compared there.
    """

    base: EventCurves
    contexts: Contexts
    word_level: int
    group: Int[np.ndarray, " events"]

    @cached_property
    def falls(self) -> Float[np.ndarray, " events"]:
        """By how much each loss falls in the unweighted run."""
        return self.base.losses[:, 0] - self.base.losses[:, -1]

    def effects(self, changed: EventCurves) -> Float[np.ndarray, " events"]:
        """The decrease of each loss, averaged over training."""
        return (self.base.losses - changed.losses).mean(1)

    def pool(self, cut: Halves) -> Bool[np.ndarray, " events"]:
        """Events that may be controls: outside the set, and in a group without taught events."""
        outside = ~cut.members
        apart = outside & ~np.isin(self.group, np.unique(self.group[cut.taught]))
        return apart if apart.any() else outside

    def respond(
        self,
        cut: Halves,
        change: Change,
        changed: EventCurves,
        estimate: Float[np.ndarray, " events"],
    ) -> Response:
        """The response of a set to a change of the weights of one half."""
        pool = self.pool(cut)
        control = match_by_context(cut.asked, pool, self.contexts)
        alike = match_by_curve(cut.asked, pool, self.contexts[self.word_level :], self.base.losses)
        effect, weights = self.effects(changed), changed_weights(cut.taught, change)
        same = control.level <= self.word_level
        near = (alike.level == 0) & alike_in_loss(alike, cut.asked, self.base.losses)
        gained, fallen = effect[cut.asked], self.falls[cut.asked]
        shifts = [shift(self.base, changed, own) for own in (cut.asked / cut.asked.sum(), control.weights.mean(0))]
        return Response(
            change=change,
            size=int(cut.members.sum()),
            taught=float(effect[cut.taught].mean()),
            asked=float(effect[cut.asked].mean()),
            control=control.mean(effect),
            outside=float(effect[~cut.members].mean()),
            shift=shifts[0],
            control_shift=shifts[1],
            predicted=predicted_shift(weights, cut.members),
            predicted_control=predicted_shift(weights, ~cut.members),
            estimated=float(estimate[cut.asked].mean()),
            estimated_control=control.mean(estimate),
            estimate_correlation=_correlation(estimate[~cut.taught], effect[~cut.taught]),
            exact=float((control.level == 0).mean()),
            same_word=float(same.mean()),
            alike=float(near.mean()),
            beyond_exact=_mean((gained - control.weights @ effect)[control.level == 0]),
            beyond_word=_mean((gained - control.weights @ effect)[same]),
            beyond_curve=_mean((gained - alike.weights @ effect)[near]),
            imbalance=_mean((fallen - control.weights @ self.falls)[same]),
            curve_imbalance=_mean((fallen - alike.weights @ self.falls)[near]),
        )


def shift(base: EventCurves, changed: EventCurves, weights: Float[np.ndarray, " events"]) -> float:
    """log T'/T of the weighted mean loss; NaN if the loss never falls halfway."""
    before, after = weights @ base.losses, weights @ changed.losses
    level = (before[0] + before[-1]) / 2
    earlier, later = (half_time(base.steps, curve, level) for curve in (before, after))
    return float(np.log(later / earlier))


def half_time(steps: np.ndarray, curve: Float[np.ndarray, " evaluations"], level: float) -> float:
    """The first step at which a curve is at or below a level, with linear interpolation between evaluations.

    >>> half_time(np.array([0, 100, 200]), np.array([4.0, 3.0, 1.0]), 2.0)
    150.0
    """
    below = np.flatnonzero(curve <= level)
    if not len(below) or below[0] == 0:
        return np.nan
    last = int(below[0])
    share = (curve[last - 1] - level) / (curve[last - 1] - curve[last])
    return float(steps[last - 1] + share * (steps[last] - steps[last - 1]))


def response_matrix(
    cuts: Sequence[Halves], effects: Sequence[Float[np.ndarray, " events"]]
) -> Float[np.ndarray, "sets sets"]:
    """Row i: the effect of teaching half of set i on its other half (diagonal) and on the rest of each set j.

    The rest of a set j is its events outside set i; NaN if there are none.
    """
    rows = []
    for place, (cut, effect) in enumerate(zip(cuts, effects, strict=True)):
        asked = [cut.asked if j == place else other.members & ~cut.members for j, other in enumerate(cuts)]
        rows.append([effect[own].mean() if own.any() else np.nan for own in asked])
    return np.array(rows)


def diagonality(matrix: Float[np.ndarray, "sets sets"]) -> tuple[float, float]:
    """Mean excess of the diagonal over the rest of its row, and the share of rows whose diagonal is largest.

    >>> diagonality(np.array([[2.0, 1.0], [0.0, 0.0]]))
    (0.5, 0.5)
    """
    own = np.diag(matrix)
    others = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    seen = np.isfinite(others).any(1)
    if not seen.any():
        return np.nan, np.nan
    beyond = own[seen] - np.nanmean(others[seen], 1)
    return float(beyond.mean()), float((own[seen] > np.nanmax(others[seen], 1)).mean())


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if one.std() and other.std() else np.nan
