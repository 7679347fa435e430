"""Tests whether supports are binary: corrective factors of a field and of fields with continuous loadings.

    field      the corrective factors of the field itself
    loadings   the same of its surrogate with continuous loadings (`priority.surrogate`)
    gaussian   the same of its Gaussian surrogate
    control    the same of a continuous-loadings surrogate of the first surrogate

If supports are binary, fewer factors explain as much, or equally many explain more: several binary factors are
needed to approximate one with continuous loadings. A surrogate keeps slightly less structure than its original and
is explained slightly less for that reason alone. The step from surrogate to control, neither of which is binary,
measures this effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from quantascope.discovery.corrective import stages
from quantascope.discovery.factorize import check_field, factorize, squared_sum
from quantascope.discovery.nulls.surrogate import Values, gaussian_surrogate, loading_surrogate

Step = Float[np.ndarray, "3"]
"""Differences in the number of factors, the explained share, and the share explained by equally many factors."""


@dataclass(frozen=True)
class CorrectiveFit:
    """The share that corrective factors explain, by layer, for the first 0, 1, 2, … factors."""

    shares: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, values: Values) -> "CorrectiveFit":
        """Fit corrective factors to a field."""
        check_field(values)
        return cls(tuple(_shares(field, layer) for layer, field in enumerate(values.astype(np.float64))))

    @property
    def numbers(self) -> list[int]:
        """Number of factors in each layer."""
        return [len(own) - 1 for own in self.shares]

    @property
    def explained(self) -> float:
        """Mean over layers of the share of squared priority that all factors explain."""
        return self.explained_by(self.numbers)

    def explained_by(self, numbers: Sequence[int]) -> float:
        """The same share for at most the given number of factors in each layer."""
        most = [min(number, own) for number, own in zip(numbers, self.numbers, strict=True)]
        return float(np.mean([own[number] for number, own in zip(most, self.shares, strict=True)]))

    def beyond(self, other: "CorrectiveFit") -> Step:
        """The differences of this fit from another.

        >>> CorrectiveFit(((0.0, 0.6, 0.9),)).beyond(CorrectiveFit(((0.0, 0.4, 0.6, 0.8),))).round(9)
        array([-1. ,  0.1,  0.3])
        """
        fewer = sum(self.numbers) - sum(other.numbers)
        as_many = other.explained_by(self.numbers)
        return np.array([fewer, self.explained - other.explained, self.explained - as_many])


@dataclass(frozen=True)
class Discreteness:
    """Corrective fits of a field and of its surrogates."""

    field: CorrectiveFit
    loadings: CorrectiveFit
    gaussian: CorrectiveFit
    control: CorrectiveFit

    @property
    def excess(self) -> Step:
        """The excess of the step from field to surrogate over the step from surrogate to control."""
        return self.field.beyond(self.loadings) - self.loadings.beyond(self.control)


def discreteness(values: Values, *, threshold: float = 0.03, draw: int = 0) -> Discreteness:
    """Compare a field with its surrogates, whose ranks are the numbers of the paper's factors at the threshold.

    >>> from quantascope.discovery.planted import PlantedConfig, plant
    >>> found = discreteness(plant(PlantedConfig(events=300, factors=4)).values)
    >>> found.field.numbers, round(found.field.explained, 6)
    ([4], 1.0)
    >>> found.loadings.explained_by([4]) < 0.9 and found.gaussian.explained_by([4]) < 0.9
    True
    """
    surrogate = _with_loadings(values, threshold, np.random.default_rng(draw))
    return Discreteness(
        field=CorrectiveFit.of(values),
        loadings=CorrectiveFit.of(surrogate),
        gaussian=CorrectiveFit.of(gaussian_surrogate(values)(np.random.default_rng(draw))),
        control=CorrectiveFit.of(_with_loadings(surrogate, threshold, np.random.default_rng([draw, 1]))),
    )


def _with_loadings(values: Values, threshold: float, rng: np.random.Generator) -> Values:
    rank = np.bincount(factorize(values, threshold=threshold).layer, minlength=len(values))
    return loading_surrogate(values, rank)(rng)


def _shares(field: Float[np.ndarray, "events intervals"], layer: int) -> tuple[float, ...]:
    total = squared_sum(field)
    shares = [0.0]
    for supports, curves in stages(field, [0, layer]):
        left = squared_sum(field - supports.T.astype(np.float64) @ curves)
        # A fit may drop factors that a new factor made redundant.
        shares = [*shares[: len(curves)], 1 - left / total]
    return tuple(shares)
