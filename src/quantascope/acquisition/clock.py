"""The acquisition clock: T ∝ π^(−γ), with or without a cost per level of depth (paper, appendix B)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class ClockFit:
    """Least squares of log T on log π and, if given, depth; all NaN where the data do not determine it."""

    gamma: float
    r2: float
    cost_per_level: float
    functions: int


def fit_clock(
    step: Float[np.ndarray, " functions"],
    probability: Float[np.ndarray, " functions"],
    depth: Int[np.ndarray, " functions"] | None = None,
) -> ClockFit:
    """Fit the clock to the functions that were acquired. Without depth, a level costs nothing.

    It is undetermined with too few acquired functions, with equal probabilities, or where depth follows from them.

    >>> probability = np.array([0.1, 0.2, 0.4, 0.8])
    >>> fit = fit_clock(100 / probability, probability)
    >>> round(fit.gamma, 6), round(fit.r2, 6)
    (1.0, 1.0)
    """
    from statsmodels.regression.linear_model import OLS  # here, for it takes seconds to import

    seen = np.isfinite(step) & (step > 0)
    columns = [np.ones(seen.sum()), np.log(probability[seen])]
    if depth is not None:
        columns.append(depth[seen].astype(float))
    design = np.column_stack(columns)
    if len(design) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return ClockFit(np.nan, np.nan, np.nan, int(seen.sum()))
    fit = OLS(np.log(step[seen]), design).fit()
    cost = float(np.exp(fit.params[2])) if depth is not None else 1.0
    return ClockFit(-float(fit.params[1]), float(fit.rsquared), cost, int(seen.sum()))


def rank_correlation(step: Float[np.ndarray, " functions"], other: Float[np.ndarray, " functions"]) -> float:
    """Spearman correlation over the acquired functions; zero if a side is constant, NaN for fewer than two."""
    from scipy import stats  # imported here because it is slow to import

    seen = np.isfinite(step)
    if seen.sum() < 2:
        return np.nan
    if np.ptp(step[seen]) == 0 or np.ptp(other[seen]) == 0:
        return 0.0
    return float(np.asarray(stats.spearmanr(other[seen], step[seen]))[0])
