"""`Estimate` and `Result`: what a claim measured, with intervals over runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, SupportsFloat

import numpy as np
from jaxtyping import Num
from scipy import stats

from quantascope.config import Config, fingerprint


@dataclass(frozen=True)
class Estimate:
    """A figure of a claim: its value in each run, their mean, and a 95 % bootstrap interval of the mean.

    One run has no interval.
    """

    says: str
    unit: str
    values: tuple[float, ...]
    mean: float | None
    low: float | None
    high: float | None

    @classmethod
    def over_runs(
        cls, says: str, values: Sequence[SupportsFloat] | Num[np.ndarray, " runs"], unit: str = ""
    ) -> "Estimate":
        """The estimate from one value per run; runs in which it is undefined (NaN) are left out.

        >>> Estimate.over_runs("a", [1.0, 2.0, 3.0]).mean
        2.0
        """
        seen = np.array([float(value) for value in values if np.isfinite(float(value))])
        if seen.size == 0:
            return cls(says, unit, (), None, None, None)
        low, high = mean_interval(seen)
        return cls(says, unit, tuple(seen.tolist()), float(seen.mean()), low, high)


def mean_interval(values: np.ndarray) -> tuple[float | None, float | None]:
    """95 % percentile bootstrap interval of the mean; none for a single value."""
    if values.size < 2:
        return None, None
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    interval = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=9999, rng=np.random.default_rng(0)
    ).confidence_interval
    return float(interval.low), float(interval.high)


@dataclass(frozen=True)
class Result:
    """The outcome of a claim under a preset: the contract between `reproduce` and `scoreboard`."""

    claim: str
    preset: str
    config: Mapping[str, Any]
    figures: Mapping[str, Estimate]
    made_with: Mapping[str, str]

    @classmethod
    def of(
        cls,
        claim: str,
        preset: str,
        config: Config,
        figures: Mapping[str, Estimate],
        made_with: Mapping[str, str],
    ) -> "Result":
        """A result from a config and its figures."""
        return cls(claim, preset, config.model_dump(mode="json"), figures, made_with)

    def to_json(self) -> dict[str, Any]:
        """As JSON, with the hash of the config that it belongs to."""
        return {**asdict(self), "hash": fingerprint(self.config)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Result":
        """The result that `to_json` wrote."""
        figures = {
            key: Estimate(**{**figure, "values": tuple(figure["values"])})
            for key, figure in values["figures"].items()
        }
        return cls(values["claim"], values["preset"], values["config"], figures, values["made_with"])
