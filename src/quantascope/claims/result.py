"""`Estimate` and `Result`: what a claim measured, with intervals over runs."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np
from jaxtyping import Float, Num
from pydantic import ConfigDict, TypeAdapter, ValidationError

from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.config import Config, fingerprint
from quantascope.runs.errors import DamagedArtefact

_RESTORE = "restore it, or reproduce the claim again"
_AS_WRITTEN = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""How a file is read: every value of the type that is stated here, and no other values."""


@dataclass(frozen=True)
class Estimate:
    """A figure of a claim: its value in each run that defines it, their mean, and 95 % intervals of the mean.

    `low` and `high` are Student's t interval. The percentile bootstrap is kept beside it, but is too narrow over
    as few runs as here.
    """

    __pydantic_config__ = _AS_WRITTEN

    says: str
    unit: str
    values: tuple[float, ...]
    undefined: int
    mean: float | None
    low: float | None
    high: float | None
    bootstrap: tuple[float, float] | None

    @classmethod
    def over_runs(
        cls, says: str, values: Sequence[SupportsFloat] | Num[np.ndarray, " runs"], unit: str = ""
    ) -> "Estimate":
        """The estimate from one value per run; NaN counts as a run in which the figure is undefined.

        >>> steps = Estimate.over_runs("last acquisition", [9.0, 11.0, float("nan")])
        >>> steps.mean, steps.values, steps.undefined
        (10.0, (9.0, 11.0), 1)
        """
        given = np.array([float(value) for value in values])
        seen = given[np.isfinite(given)]
        low, high = t_interval(seen) or (None, None)
        return cls(
            says=says,
            unit=unit,
            values=tuple(seen.tolist()),
            undefined=len(given) - len(seen),
            mean=float(seen.mean()) if seen.size else None,
            low=low,
            high=high,
            bootstrap=bootstrap_interval(seen),
        )

    @classmethod
    def pooled(cls, says: str, values: Sequence[float], unit: str = "") -> "Estimate":
        """One value of all runs together, which comes first; the others are of runs drawn anew, for its interval.

        Draws that do not define the figure are left out; without any there is no interval.

        >>> Estimate.pooled("slope", [2.0, 0.0, 1.0, 2.0, 3.0, 4.0]).low
        0.1
        """
        value, *drawn = values
        defined = [one for one in drawn if np.isfinite(one)]
        alone = cls.over_runs(says, [value], unit)
        if alone.mean is None or not defined:
            return alone
        low, high = (float(end) for end in np.percentile(defined, [2.5, 97.5]))
        return replace(alone, low=low, high=high, bootstrap=(low, high))

    @property
    def is_consistent(self) -> bool:
        """Whether the mean is that of the values, and the intervals rise; an interval may be of other draws."""
        if self.mean is None or not self.values:
            return self.mean is None and not self.values and self.undefined >= 0
        intervals = [ends for ends in ((self.low, self.high), self.bootstrap) if ends and ends != (None, None)]
        return (
            self.undefined >= 0
            and math.isclose(self.mean, float(np.mean(self.values)), rel_tol=1e-9, abs_tol=1e-12)
            and all(low is not None and high is not None and low <= high for low, high in intervals)
        )

    @property
    def runs(self) -> str:
        """How many runs define the figure, and of how many."""
        return (
            f"{len(self.values)} of {len(self.values) + self.undefined}"
            if self.undefined
            else str(len(self.values))
        )


def t_interval(values: Float[np.ndarray, " runs"]) -> tuple[float, float] | None:
    """95 % Student interval of the mean; None for fewer than three values.

    >>> low, high = t_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    if values.size < 3:
        return None
    from scipy import stats  # here, for it takes half a second to import

    reach = float(stats.t.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    return float(values.mean()) - reach, float(values.mean()) + reach


def bootstrap_interval(values: Float[np.ndarray, " runs"]) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of the mean; None for a single value."""
    if values.size < 2:
        return None
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    from scipy import stats

    interval = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=9999, rng=np.random.default_rng(0)
    ).confidence_interval
    return float(interval.low), float(interval.high)


@dataclass(frozen=True)
class Result:
    """The outcome of a claim under a preset: the contract between `reproduce` and `scoreboard`."""

    __pydantic_config__ = _AS_WRITTEN

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

    def save(self, path: Path) -> None:
        """Keep it, with the hash of its config and a digest."""
        write_record(path, self.to_json(), made_by=fingerprint(self.config))

    @classmethod
    def load(cls, path: Path) -> "Result":
        """The result in a file."""
        values = read_record(path, made_by=None, remedy=_RESTORE)
        made_by = values.pop("hash", None)
        try:
            found = TypeAdapter(cls).validate_json(json.dumps(values))
            wrong = next((name for name, one in found.figures.items() if not one.is_consistent), None)
        except ValidationError as error:
            first = error.errors()[0]
            wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise DamagedArtefact(f"{path} is not a result of quantascope ({wrong}); {_RESTORE}") from None
        if wrong is not None:
            raise DamagedArtefact(f"{path}: mean and interval of '{wrong}' do not fit its values; {_RESTORE}")
        if made_by != fingerprint(found.config):
            raise DamagedArtefact(f"{path} has another config than the one of its hash; {_RESTORE}")
        return found
