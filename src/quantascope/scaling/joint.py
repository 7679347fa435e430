"""One frontier for parameters, data and steps together, and the laws that it competes with.

Each resource alone would let a learner acquire K_r = a_r · r^(b_r) functions, r being parameters P, distinct
examples D or steps S. Together they bound one learned prefix,

    K(P, D, S)^(−q) = K_P^(−q) + K_D^(−q) + K_S^(−q),

where the scarcest dominates and q says how sharp the crossover is; endless data drop their term. The loss follows
from K. The rivals are three laws fitted one at a time and joined by their minimum, and the additive form that
Hoffmann et al. (2022) fit to language models, L = E + A·P^(−a) + B·D^(−b) + C·S^(−c).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import least_squares

from quantascope.runs.errors import InvalidConfig

RESOURCES = ("parameters", "examples", "steps")
_STARTS = 8
_LARGEST_SHARPNESS = 20.0


@dataclass(frozen=True, eq=False)
class Cells:
    """Measured cells of a grid of runs; endless data are infinite `examples`."""

    parameters: Float[np.ndarray, " cells"]
    examples: Float[np.ndarray, " cells"]
    steps: Float[np.ndarray, " cells"]
    count: Float[np.ndarray, " cells"]
    loss: Float[np.ndarray, " cells"]

    def __post_init__(self) -> None:
        sizes = {len(column) for column in self.columns}
        if len(sizes) > 1 or not sizes.pop():
            raise InvalidConfig("a grid needs one value of every resource, count and loss for each of its cells")
        if any((column <= 0).any() or np.isnan(column).any() for column in self.columns):
            raise InvalidConfig("every resource, count and loss of a cell must be positive; leave out others")

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """Resources, count and loss."""
        return self.parameters, self.examples, self.steps, self.count, self.loss

    @property
    def resources(self) -> Float[np.ndarray, "cells 3"]:
        """P, D and S side by side."""
        return np.column_stack([self.parameters, self.examples, self.steps])

    def where(self, chosen: Bool[np.ndarray, " cells"]) -> "Cells":
        """The cells at these indices."""
        return Cells(*(column[chosen] for column in self.columns))


@dataclass(frozen=True, eq=False)
class JointLaw:
    """The law K(P, D, S): exponents and log-prefactors of three frontiers, and sharpness of their crossover."""

    exponent: Float[np.ndarray, " 3"]
    log_scale: Float[np.ndarray, " 3"]
    sharpness: float

    def count(self, resources: Float[np.ndarray, "cells 3"]) -> Float[np.ndarray, " cells"]:
        """K of each cell.

        >>> law = JointLaw(np.array([1.0, 1.0, 1.0]), np.zeros(3), 20.0)
        >>> law.count(np.array([[2.0, np.inf, 100.0], [500.0, 7.0, 100.0]])).round(3)
        array([2., 7.])
        """
        return np.exp(-np.logaddexp.reduce(-self.sharpness * self.bounds(resources), axis=1) / self.sharpness)

    def bounds(self, resources: Float[np.ndarray, "cells 3"]) -> Float[np.ndarray, "cells 3"]:
        """log K that each resource alone would allow."""
        return self.log_scale + self.exponent * np.log(resources)


def fit_joint(cells: Cells, *, seed: int = 0) -> JointLaw:
    """Robust least squares in log K (residuals beyond 0.1 count linearly), the best of several starts."""
    resources, target = cells.resources, np.log(cells.count)
    middle = np.array([np.median(np.log(column[np.isfinite(column)])) for column in resources.T])

    def law(values: np.ndarray) -> JointLaw:
        # Prefactors are fitted as log K at the middle of each resource, which is what the data determine.
        exponent = np.exp(values[:3])
        return JointLaw(
            exponent, values[3:6] - exponent * middle, min(float(np.exp(values[6])), _LARGEST_SHARPNESS)
        )

    found = _best_of_starts(
        lambda values: np.log(law(values).count(resources)) - target,
        np.concatenate([np.log([0.6, 0.4, 0.6]), np.full(3, target.mean() + 0.5), [np.log(2.0)]]),
        spread=np.array([0.4, 0.4, 0.4, 0.7, 0.7, 0.7, 0.5]),
        seed=seed,
    )
    return law(found)


def fit_separately(cells: Cells) -> JointLaw:
    """A power law for each resource from the cells where the two others are largest, joined by their minimum."""
    exponents, scales = [], []
    resources = cells.resources
    largest = resources.max(0)
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        chosen = (resources[:, others] == largest[others]).all(1) & np.isfinite(resources[:, axis])
        x, y = np.log(resources[chosen, axis]), np.log(cells.count[chosen])
        if len(np.unique(x)) < 2:
            raise InvalidConfig(
                f"{RESOURCES[axis]} have fewer than two sizes where the others are largest; widen the grid"
            )
        slope, intercept = np.polyfit(x, y, 1)
        exponents.append(slope)
        scales.append(intercept)
    return JointLaw(np.array(exponents), np.array(scales), _LARGEST_SHARPNESS)


@dataclass(frozen=True, eq=False)
class AdditiveLaw:
    """L = E + Σ_r A_r r^(−a_r)."""

    floor: float
    scale: Float[np.ndarray, " 3"]
    exponent: Float[np.ndarray, " 3"]

    def loss(self, resources: Float[np.ndarray, "cells 3"]) -> Float[np.ndarray, " cells"]:
        """The loss of each cell; endless data cost nothing."""
        return self.floor + (self.scale * resources**-self.exponent).sum(1)


def fit_additive(cells: Cells, *, seed: int = 0) -> AdditiveLaw:
    """Robust least squares in log L, as for the joint law, every part positive."""
    resources, target = cells.resources, np.log(cells.loss)
    middle = np.array([np.median(column[np.isfinite(column)]) for column in resources.T])

    def law(values: np.ndarray) -> AdditiveLaw:
        exponent = np.exp(values[4:7])
        return AdditiveLaw(float(np.exp(values[0])), np.exp(values[1:4]) * middle**exponent, exponent)

    found = _best_of_starts(
        lambda values: np.log(law(values).loss(resources)) - target,
        np.concatenate([[target.min() - 1.0], np.full(3, target.mean() - 1.5), np.log([0.3, 0.3, 0.3])]),
        spread=np.array([1.0, 0.7, 0.7, 0.7, 0.5, 0.5, 0.5]),
        seed=seed,
    )
    return law(found)


def _best_of_starts(
    residual: Callable[[np.ndarray], np.ndarray], start: np.ndarray, *, spread: np.ndarray, seed: int
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    starts = [start, *(start + spread * rng.normal(size=(_STARTS - 1, len(start))))]
    bounds = (start - 6.0, start + 6.0)
    fits = [
        least_squares(residual, np.clip(one, *bounds), bounds=bounds, loss="soft_l1", f_scale=0.1)
        for one in starts
    ]
    return min(fits, key=lambda fit: fit.cost).x
