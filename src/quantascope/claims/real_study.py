"""`Study`: the settings of what is measured of a source on real data; `Number`: one measured value."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, SupportsFloat

import numpy as np
from jaxtyping import Int

from quantascope.qmodel.recovered.fit import RecoveredFit
from quantascope.runs.config import Config, Distinct, Positive, PositiveFloat
from quantascope.tasks.events import Events

Column = Literal["token", "position", "previous", "second previous"]


class Study(Config):
    """The settings of what is measured of each source."""

    fit: RecoveredFit
    contexts: tuple[tuple[Column, ...], ...]
    """Columns in which events must agree to be shuffled among each other, the most lenient set first."""
    rule: str
    exception: str
    """The properties whose events are compared: those that a rule gives, and those that it does not."""
    held_out: str = "development"
    """The panel on which factors are checked and descriptions chosen."""
    test: str = "test_300"
    threshold: PositiveFloat = 0.03
    spacings: Annotated[tuple[Positive, ...], Distinct] = (10, 20, 40)
    """Numbers of intervals, the last that of the source; each divides it."""
    permutations: Positive = 5
    draws: Positive = 3
    shuffles: Positive = 100
    every: Positive = 3
    """Interventions are made on every n-th test input."""


@dataclass(frozen=True)
class Number:
    """A measured number, its description and its unit."""

    says: str
    value: SupportsFloat
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))

    def to_json(self) -> dict[str, Any]:
        """As JSON, with null for NaN."""
        value = float(self.value)
        return {"says": self.says, "value": value if math.isfinite(value) else None, "unit": self.unit}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Number":
        """The number that `to_json` wrote."""
        value = values["value"]
        return cls(values["says"], math.nan if value is None else value, values["unit"])


Numbers = dict[str, Number]


def context_groups(events: Events, columns: Sequence[Column]) -> Int[np.ndarray, " events"]:
    """The group of each event: those that are alike in their token, position and the tokens before it.

    >>> events = Events.of([[1, 7], [2, 7]], [[5, 9], [5, 9]])
    >>> context_groups(events, ("token", "previous")), context_groups(events, ("token", "second previous"))
    (array([0, 1, 0, 1]), array([0, 2, 1, 2]))
    """
    row = events.tokens[events.example]
    own = np.arange(events.count)
    place = events.position.numpy()
    values = {
        "token": events.target.numpy(),
        "position": events.index.numpy(),
        "previous": row.numpy()[own, place],
        "second previous": np.where(place > 0, row.numpy()[own, np.maximum(place - 1, 0)], -1),
    }
    chosen = np.stack([values[column] for column in columns], 1)
    return np.unique(chosen, axis=0, return_inverse=True)[1].reshape(-1)


def context_key(columns: Sequence[Column]) -> str:
    """A context as a part of a figure's name."""
    return "_".join(column.replace(" ", "_") for column in columns)


def finite_mean(values: Iterable[SupportsFloat]) -> float:
    """The mean of the values that are finite; NaN if none is."""
    known = [float(value) for value in values if math.isfinite(value)]
    return float(np.mean(known)) if known else math.nan
