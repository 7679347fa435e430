"""The acquisition clock: T ∝ π^(−γ), with or without a cost per level of depth (paper, appendix B)."""

from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from jaxtyping import Float, Int
from scipy import stats

from quantascope.errors import InvalidConfig


@dataclass(frozen=True)
class ClockFit:
    """Least squares of log T on log π and, if given, depth."""

    gamma: float
    r2: float
    cost_per_level: float | None
    functions: int


def fit_clock(
    step: Float[np.ndarray, " functions"],
    probability: Float[np.ndarray, " functions"],
    depth: Int[np.ndarray, " functions"] | None = None,
) -> ClockFit:
    """Fit the clock to the functions that were acquired.

    >>> probability = np.array([0.1, 0.2, 0.4, 0.8])
    >>> fit = fit_clock(100 / probability, probability)
    >>> round(fit.gamma, 6), round(fit.r2, 6)
    (1.0, 1.0)
    """
    seen = np.isfinite(step) & (step > 0)
    columns = [np.log(probability[seen])] + ([depth[seen].astype(float)] if depth is not None else [])
    if seen.sum() < len(columns) + 2:
        raise InvalidConfig(
            f"a clock fit needs at least {len(columns) + 2} acquired functions, got {int(seen.sum())}; train longer"
        )
    fit = sm.OLS(np.log(step[seen]), sm.add_constant(np.column_stack(columns))).fit()
    cost = float(np.exp(fit.params[2])) if depth is not None else None
    return ClockFit(
        gamma=-float(fit.params[1]), r2=float(fit.rsquared), cost_per_level=cost, functions=int(seen.sum())
    )


def rank_correlation(step: Float[np.ndarray, " functions"], probability: Float[np.ndarray, " functions"]) -> float:
    """Spearman correlation of frequency and acquisition time over the functions that were acquired."""
    seen = np.isfinite(step)
    return float(stats.spearmanr(probability[seen], step[seen]).statistic)
