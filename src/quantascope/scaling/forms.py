"""Compares a power law with an exponential and a broken power law by information criterion.

All three are curves of log L with Gaussian residuals. AICc = n ln(RSS/n) + 2k + 2k(k+1)/(n−k−1), k counting the
residual's variance. A difference below two is not evidence; one above ten is strong evidence.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num

from quantascope.runs.errors import InvalidConfig


@dataclass(frozen=True)
class Forms:
    """AICc of each form; the smallest describes the points best for its number of parameters."""

    power: float
    exponential: float
    broken: float

    @property
    def exponential_excess(self) -> float:
        """AICc of an exponential minus AICc of a power law."""
        return self.exponential - self.power

    @property
    def broken_excess(self) -> float:
        """AICc of a broken power law minus AICc of a power law."""
        return self.broken - self.power


def compare_forms(x: Num[np.ndarray, " points"], loss: Float[np.ndarray, " points"]) -> Forms:
    """Fit the three forms to the same points; the break lies at one of the inner sizes.

    >>> x = np.repeat(np.geomspace(1, 100, 8), 3)
    >>> noise = np.random.default_rng(0).normal(0, 0.02, x.size)
    >>> compare_forms(x, x**-0.3 * np.exp(noise)).exponential_excess > 10
    True
    """
    x, loss = np.asarray(x, dtype=float), np.asarray(loss, dtype=float)
    usable = np.isfinite(loss) & (loss > 0) & np.isfinite(x) & (x > 0)
    x, target = x[usable], np.log(loss[usable])
    sizes = np.unique(x)
    if len(sizes) < 4 or len(x) < 7:
        raise InvalidConfig(
            f"{len(x)} points at {len(sizes)} sizes cannot tell forms apart; give 7 points at 4 sizes or more"
        )
    one, log_x = np.ones(len(x)), np.log(x)
    breaks = [np.maximum(log_x - at, 0) for at in np.log(sizes[1:-1])]
    return Forms(
        power=_criterion(_residual([one, log_x], target), len(x), 3),
        exponential=_criterion(_residual([one, x], target), len(x), 3),
        broken=_criterion(min(_residual([one, log_x, hinge], target) for hinge in breaks), len(x), 5),
    )


def forms_or_undecided(x: Num[np.ndarray, " points"], loss: Float[np.ndarray, " points"]) -> Forms:
    """The comparison, all NaN if the points are too few to distinguish forms.

    >>> forms_or_undecided(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])).broken_excess
    nan
    """
    try:
        return compare_forms(x, loss)
    except InvalidConfig:
        return Forms(np.nan, np.nan, np.nan)


def _residual(columns: list[np.ndarray], target: np.ndarray) -> float:
    design = np.column_stack(columns)
    return float(np.sum((target - design @ np.linalg.lstsq(design, target)[0]) ** 2))


def _criterion(residual: float, points: int, parameters: int) -> float:
    k = parameters
    return points * float(np.log(residual / points)) + 2 * k + 2 * k * (k + 1) / (points - k - 1)
