"""Are supports binary? The corrective factors of a field beside those of fields with continuous loadings.

    field      the corrective factors of the field itself
    loadings   those of its surrogate with continuous loadings (`priority.surrogate`)
    gaussian   those of its Gaussian surrogate
    control    those of a surrogate with continuous loadings of that surrogate

Binary supports are told by fewer factors that explain as much, or as many that explain more: where loadings are
continuous, it takes several binary factors to approximate one. A surrogate keeps a little less structure than what
it is made from, and is explained a little less for that alone. How much, the step from surrogate to control says:
nothing is binary in either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from quantascope.discovery.corrective import stages
from quantascope.discovery.factorize import check_field, factorize, squared_sum
from quantascope.discovery.nulls.surrogate import Values, gaussian_surrogate, loading_surrogate

Step = Float[np.ndarray, "3"]
"""More factors, more explained, and more explained than by as many factors."""


@dataclass(frozen=True)
class CorrectiveFit:
    """What the corrective factors of a field explain: by layer, the share for none, one, two, … of them."""

    shares: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, values: Values) -> "CorrectiveFit":
        """The fit of a field."""
        check_field(values)
        return cls(tuple(_shares(field, layer) for layer, field in enumerate(values.astype(np.float64))))

    @property
    def numbers(self) -> list[int]:
        """How many factors each layer has."""
        return [len(own) - 1 for own in self.shares]

    @property
    def explained(self) -> float:
        """Share of the squared priority that all of them explain, as the mean over layers."""
        return self.explained_by(self.numbers)

    def explained_by(self, numbers: Sequence[int]) -> float:
        """The same for at most so many factors of each layer."""
        most = [min(number, own) for number, own in zip(numbers, self.numbers, strict=True)]
        return float(np.mean([own[number] for number, own in zip(most, self.shares, strict=True)]))

    def beyond(self, other: "CorrectiveFit") -> Step:
        """By how much this fit exceeds another.

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
        """By how much the step from field to surrogate exceeds the step from surrogate to control."""
        return self.field.beyond(self.loadings) - self.loadings.beyond(self.control)


def discreteness(values: Values, *, threshold: float = 0.03, draw: int = 0) -> Discreteness:
    """Compare a field with its surrogates; ranks are those of the paper's factors at the threshold.

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
        # A fit may lose factors that the new one made needless.
        shares = [*shares[: len(curves)], 1 - left / total]
    return tuple(shares)
