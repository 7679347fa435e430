"""Power laws by least squares in log–log space, with intervals over seeds and sizes (paper, appendix D.2).

log L = a − b log x, x being parameters, examples or acquired functions, without subtracting a floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num

from quantascope.runs.errors import InvalidConfig

FEWEST = 3


@dataclass(frozen=True)
class PowerLawFit:
    """L = exp(intercept) · x^(−exponent), and the share of variance in log L that it explains."""

    exponent: float
    intercept: float
    r2: float
    points: int

    def __call__(self, x: Num[np.ndarray, " sizes"]) -> Float[np.ndarray, " sizes"]:
        """The fitted loss."""
        return np.exp(self.intercept - self.exponent * np.log(x))


def fit_power_law(
    x: Num[np.ndarray, " points"] | Sequence[float], loss: Float[np.ndarray, " points"] | Sequence[float]
) -> PowerLawFit:
    """Ordinary least squares of log L on log x, over the points where both are finite and positive.

    >>> x = np.array([1.0, 10.0, 100.0])
    >>> fit = fit_power_law(x, 2 * x**-0.25)
    >>> round(fit.exponent, 9), round(float(np.exp(fit.intercept)), 9), round(fit.r2, 9)
    (0.25, 2.0, 1.0)
    """
    from statsmodels.regression.linear_model import OLS  # here, for it takes seconds to import

    x, loss = np.asarray(x, dtype=float), np.asarray(loss, dtype=float)
    usable = np.isfinite(x) & np.isfinite(loss) & (x > 0) & (loss > 0)
    sizes = len(np.unique(x[usable]))
    if sizes < FEWEST:
        raise InvalidConfig(
            f"a power law through {sizes} different sizes is not determined; give at least {FEWEST} "
            f"with finite, positive loss (of {len(x)} points, {int(usable.sum())} have one)"
        )
    fit = OLS(np.log(loss[usable]), np.column_stack([np.ones(usable.sum()), np.log(x[usable])])).fit()
    return PowerLawFit(-float(fit.params[1]), float(fit.params[0]), float(fit.rsquared), int(usable.sum()))


def power_law_or_nothing(x: Num[np.ndarray, " points"], loss: Float[np.ndarray, " points"]) -> PowerLawFit:
    """The fit, all of it NaN where fewer than three different sizes have a finite, positive loss.

    >>> power_law_or_nothing(np.array([1.0, 2.0, 4.0]), np.array([1.0, np.nan, 0.5])).exponent
    nan
    """
    try:
        return fit_power_law(x, loss)
    except InvalidConfig:
        return PowerLawFit(np.nan, np.nan, np.nan, 0)


def log_error(predicted: Float[np.ndarray, " points"], measured: Float[np.ndarray, " points"]) -> float:
    """Root-mean-square log ratio over the measured points; infinite if a loss of zero was predicted."""
    known = np.isfinite(measured)
    with np.errstate(divide="ignore"):
        return float(np.sqrt(np.mean(np.log(predicted[known] / measured[known]) ** 2))) if known.any() else np.nan


def bootstrap_exponent(
    x: Num[np.ndarray, "seeds sizes"],
    loss: Float[np.ndarray, "seeds sizes"],
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float] | None:
    """95 % bootstrap percentile interval of the exponent, resampling both seeds and sizes.

    A draw with fewer than three different sizes fits nothing and is left out; none remain if there are too few.
    """
    rng = np.random.default_rng(seed)
    seeds, sizes = loss.shape
    rows, columns = rng.integers(seeds, size=(resamples, seeds)), rng.integers(sizes, size=(resamples, sizes))
    drawn = (rows[:, :, None], columns[:, None, :])
    with np.errstate(divide="ignore", invalid="ignore"):  # what has no logarithm is left out
        x, y = np.log(np.asarray(x, dtype=float))[drawn], np.log(loss)[drawn]
    x, y = x.reshape(resamples, -1), y.reshape(resamples, -1)
    usable = np.isfinite(x) & np.isfinite(y)
    x, y = np.where(usable, x, np.nan), np.where(usable, y, np.nan)
    different = 1 + (np.diff(np.sort(x, axis=1), axis=1) > 0).sum(1)  # NaN sorts last and compares false
    x, y = x[different >= FEWEST], y[different >= FEWEST]
    if not len(x):
        return None
    spread = x - np.nanmean(x, axis=1, keepdims=True)
    slopes = -np.nansum(spread * y, axis=1) / np.nansum(spread**2, axis=1)
    low, high = np.percentile(slopes, [2.5, 97.5])
    return float(low), float(high)
