"""The acquisition clock: T ∝ π^(−γ), with or without a cost per level of depth (paper, appendix B)."""

from dataclasses import dataclass

import numpy as np
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
    from statsmodels.regression.linear_model import OLS  # here, for it takes seconds to import

    seen = np.isfinite(step) & (step > 0)
    columns = [np.ones(seen.sum()), np.log(probability[seen])]
    if depth is not None:
        columns.append(depth[seen].astype(float))
    if seen.sum() < len(columns) + 1:
        raise InvalidConfig(
            f"a clock fit needs at least {len(columns) + 1} acquired functions, got {int(seen.sum())}; "
            "train longer"
        )
    design = np.column_stack(columns)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise InvalidConfig(
            f"the {int(seen.sum())} acquired functions leave the clock undetermined: "
            "their log probability or depth is constant, or one follows from the other; vary the demand"
        )
    fit = OLS(np.log(step[seen]), design).fit()
    cost = float(np.exp(fit.params[2])) if depth is not None else None
    return ClockFit(
        gamma=-float(fit.params[1]), r2=float(fit.rsquared), cost_per_level=cost, functions=int(seen.sum())
    )


def rank_correlation(step: Float[np.ndarray, " functions"], other: Float[np.ndarray, " functions"]) -> float:
    """Spearman correlation over the functions that were acquired; zero if either side is constant."""
    seen = np.isfinite(step)
    if np.ptp(step[seen]) == 0 or np.ptp(other[seen]) == 0:
        return 0.0
    return float(np.asarray(stats.spearmanr(other[seen], step[seen]))[0])
