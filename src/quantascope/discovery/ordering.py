"""Tests whether factors are acquired in the order that the theory predicts (paper, section 5.2; appendix G.3).

Frequent and simple computations should come first: acquisition time falls with demand p, rises with complexity κ
and falls with p/κ. Correlations are Spearman's, pooled over all factors. A second figure counts the layers in
which both signs that involve complexity are as predicted. Factors of one trajectory are not independent, so these
are consistency checks without p-values.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from quantascope.acquisition import rank_correlation
from quantascope.discovery.factors import Factors
from quantascope.runs.errors import InvalidConfig


@dataclass(frozen=True)
class Ordering:
    """Rank correlations with acquisition time, NaN for fewer than two factors, and layers with predicted signs.

    `layers` counts the layers whose factors were not all acquired at once; only these have an order.
    """

    factors: int
    time_demand: float
    time_complexity: float
    time_demand_over_complexity: float
    layers: int
    predicted_layers: int


def ordering(factors: Factors, complexity: Float[np.ndarray, " factors"]) -> Ordering:
    """Correlations of acquisition time with demand, packet complexity, and their ratio.

    >>> factors = Factors(
    ...     layer=np.array([0, 0]),
    ...     supports=np.array([[True, True], [True, False]]),
    ...     curves=np.array([[1.0, 0.0], [0.0, 1.0]]),
    ...     explained=np.array([0.5, 0.3]),
    ... )
    >>> found = ordering(factors, np.array([2.0, 3.0]))
    >>> round(found.time_complexity, 9), round(found.time_demand_over_complexity, 9), found.predicted_layers
    (1.0, -1.0, 1)
    """
    time = factors.acquisition_interval
    worth = factors.demand / complexity
    layers = np.unique(factors.layer)
    signs = [
        (_correlation(time[own], complexity[own]), _correlation(time[own], worth[own]))
        for own in factors.layer == layers[:, None]
        if np.ptp(time[own]) > 0
    ]
    return Ordering(
        factors=len(factors),
        time_demand=_correlation(time, factors.demand),
        time_complexity=_correlation(time, complexity),
        time_demand_over_complexity=_correlation(time, worth),
        layers=len(signs),
        predicted_layers=sum(up > 0 > down for up, down in signs),
    )


def mean_acquisition(factors: Factors) -> Float[np.ndarray, " intervals"]:
    """The mean of the factors' cumulative curves, at the end of each interval."""
    if not len(factors):
        raise InvalidConfig("there are no factors to average; lower the threshold of the factorization")
    return factors.cumulative.mean(0)


def improvement(loss: Float[np.ndarray, " checkpoints"]) -> Float[np.ndarray, " intervals"]:
    """Decrease of a loss up to the end of each interval, as a share of its total decrease.

    >>> improvement(np.array([4.0, 3.0, 2.0]))
    array([0.5, 1. ])
    """
    fall = loss[0] - loss[-1]
    if not fall > 0:
        raise InvalidConfig(
            f"the loss went from {loss[0]:g} to {loss[-1]:g}; improvement needs one that decreased"
        )
    return (loss[0] - loss[1:]) / fall


def improvement_correlation(
    factors: Factors, loss: Float[np.ndarray, " checkpoints"], *, with_start: bool = False
) -> float:
    """Pearson correlation of the mean acquisition curve with the improvement of a held-out loss.

    Both are taken at the ends of the intervals. At the start of training both are zero by definition; the paper's
    authors include this point.
    """
    mean, improved = mean_acquisition(factors), improvement(loss)
    if mean.shape != improved.shape:
        raise InvalidConfig(
            f"the factors have {len(mean)} intervals but the loss has {len(loss)} checkpoints; "
            f"give the loss at all {len(mean) + 1} checkpoints of the field"
        )
    pair = np.pad([mean, improved], ((0, 0), (int(with_start), 0)))
    return float(np.corrcoef(pair)[0, 1])


def _correlation(time: Int[np.ndarray, " factors"], other: Float[np.ndarray, " factors"]) -> float:
    return rank_correlation(time.astype(np.float64), other)
