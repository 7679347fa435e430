"""Do rules come before exceptions? When the losses of each fall, and which quanta help exceptions.

half of the fall   The time at which the mean loss has fallen halfway. Exceptions ask for rarer tokens at other
                   places, so they are also compared with matched events that follow the rule: those of the same
                   contexts, weighted as the contexts are among the exceptions.
quanta             The rank correlation over quanta of the exceptions' share of their events with their time of
                   acquisition, compared with that of random sets of equal size.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.acquisition import rank_correlation
from quantascope.discovery.factors import Factors


def half_time(loss: Float[np.ndarray, " checkpoints"], steps: Int[np.ndarray, " checkpoints"]) -> float:
    """The share of training after which a loss has fallen halfway; NaN if it does not fall.

    >>> half_time(np.array([4.0, 4.0, 2.0, 0.0]), np.array([0, 1, 2, 4]))
    0.5
    """
    fall = loss[0] - loss[-1]
    if not fall > 0:
        return float("nan")
    made = (loss[0] - loss) / fall
    after = int((made >= 0.5).argmax())
    part = (0.5 - made[after - 1]) / (made[after] - made[after - 1])
    return float((steps[after - 1] + part * (steps[after] - steps[after - 1])) / steps[-1])


def matched_loss(
    losses: Float[np.ndarray, "events checkpoints"],
    exceptions: Bool[np.ndarray, " events"],
    controls: Bool[np.ndarray, " events"],
    groups: Int[np.ndarray, " events"],
) -> tuple[Float[np.ndarray, " checkpoints"], Float[np.ndarray, " checkpoints"], float]:
    """Mean losses of exceptions and of controls alike in context, and the share of exceptions that have any.

    >>> losses = np.array([[2.0], [4.0], [6.0], [9.0]])
    >>> exception = np.array([True, False, False, False])
    >>> matched_loss(losses, exception, ~exception, np.array([0, 0, 0, 1]))
    (array([2.]), array([5.]), 1.0)
    """
    many = int(groups.max()) + 1
    own, other = (np.bincount(groups[which], minlength=many) for which in (exceptions, controls))
    both = (own > 0) & (other > 0)
    kept = exceptions & both[groups]
    weight = np.divide(own, other, out=np.zeros(many), where=both)[groups] * controls
    total = weight.sum()
    if not total:
        nothing = np.full(losses.shape[1], np.nan)
        return nothing, nothing, 0.0
    beside = weight @ losses.astype(np.float64) / total
    return losses[kept].mean(0, dtype=np.float64), beside, float(kept.sum() / exceptions.sum())


def exceptions_late(factors: Factors, exceptions: Bool[np.ndarray, " events"]) -> float:
    """Rank correlation over factors of the exceptions' share of their events with their acquisition."""
    share = np.array([exceptions[support].mean() for support in factors.supports])
    return rank_correlation(factors.acquisition_interval.astype(np.float64), share)
