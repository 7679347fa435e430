"""Acquisition times of functions, and the sharpness of acquisition (paper, section 4.2 and appendix B)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

THRESHOLD = 0.8
CONSECUTIVE = 5


@dataclass(frozen=True, eq=False)
class AcquisitionTimes:
    """Acquisition step of every function (NaN if never) with the coefficient curves that it was read from."""

    step: Float[np.ndarray, " functions"]
    evaluated: Int[np.ndarray, " evaluations"]
    coefficient: Float[np.ndarray, "evaluations functions"]

    @property
    def acquired(self) -> Bool[np.ndarray, " functions"]:
        """The mask of functions that were acquired."""
        return np.isfinite(self.step)


def acquisition_times(
    evaluated: Int[np.ndarray, " evaluations"],
    coefficient: Float[np.ndarray, "evaluations functions"],
    *,
    threshold: float = THRESHOLD,
    consecutive: int = CONSECUTIVE,
) -> AcquisitionTimes:
    """The first step of `consecutive` evaluations in a row with a coefficient of at least `threshold`.

    >>> curve = np.array([[0.0], [0.9], [0.0], [0.9], [0.8], [0.9]])
    >>> acquisition_times(np.arange(6) * 50, curve, consecutive=3).step
    array([150.])
    """
    above = coefficient >= threshold
    if len(above) < consecutive:
        starts = np.zeros((1, above.shape[1]), dtype=bool)
    else:
        starts = np.lib.stride_tricks.sliding_window_view(above, consecutive, axis=0).all(-1)
    step = np.where(starts.any(0), evaluated[starts.argmax(0)].astype(float), np.nan)
    return AcquisitionTimes(step, evaluated, coefficient)


def first_crossing(
    evaluated: Int[np.ndarray, " evaluations"],
    curve: Float[np.ndarray, "evaluations functions"],
    level: float = THRESHOLD,
) -> Float[np.ndarray, " functions"]:
    """The first evaluated step at which each curve reaches a level; NaN if it never does."""
    reached = curve >= level
    return np.where(reached.any(0), evaluated[reached.argmax(0)].astype(float), np.nan)


def transition_breadth(
    evaluated: Int[np.ndarray, " evaluations"], loss: Float[np.ndarray, "evaluations functions"]
) -> Float[np.ndarray, " functions"]:
    """Steps between the first 10 % and the first 90 % of a loss curve's fall from its first to its last value.

    Crossings are interpolated linearly between evaluations. The paper gives no definition; this one is
    quantascope's.

    >>> transition_breadth(np.array([0, 100, 200]), np.array([[1.0], [1.0], [0.0]]))
    array([80.])
    """
    return np.array([_breadth(evaluated, curve) for curve in loss.T])


def _breadth(evaluated: np.ndarray, curve: np.ndarray) -> float:
    fall = curve[0] - curve[-1]
    if not fall > 0:
        return np.nan
    # The running minimum is monotone, so each level is crossed once, and first.
    fallen = (curve[0] - np.minimum.accumulate(curve)) / fall
    start, end = (_crossing(evaluated, fallen, level) for level in (0.1, 0.9))
    return end - start


def _crossing(evaluated: np.ndarray, fallen: np.ndarray, level: float) -> float:
    after = int(np.argmax(fallen >= level))
    before = after - 1
    share = (level - fallen[before]) / (fallen[after] - fallen[before])
    return evaluated[before] + share * (evaluated[after] - evaluated[before])
