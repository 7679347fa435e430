"""Detectors: the single unit that best predicts each property.

The unit is chosen on one panel and scored on the other, like descriptions. A detector is independent of
descriptions: a unit may be the best detector of a property that its own description does not mention.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from quantascope.quanta.properties import Properties
from quantascope.semantics.name import Panel
from quantascope.semantics.score import bootstrap_counts, example_counts, f1, interval


@dataclass(frozen=True, kw_only=True)
class Detected:
    """A property, its best detector, and the detector's F1 on the test panel.

    `constant` is the F1 of a unit that is always active.
    """

    says: str
    unit: str
    events: int
    f1: float
    low: float
    high: float
    constant: float


def detectors(calibration: Panel, test: Panel) -> list[Detected]:
    """The best detector of every property of the tables, over all events.

    >>> from quantascope.semantics.units import Units
    >>> table = Properties(("zero",), np.array([[True, True, False, False]]), np.arange(4))
    >>> units = Units.of(["a", "b"], np.array([[True, False, False, False], [True, True, True, False]]))
    >>> [found] = detectors((table, units), (table, units))
    >>> found.unit, found.f1, round(found.constant, 3)
    ('b', 0.8, 0.667)
    """
    (calibrated, units), (tested, same) = calibration, test
    best = _scores(calibrated, units.active).argmax(0)
    active, wanted = same.active[best], tested.values
    counts = example_counts(active, wanted, np.ones_like(wanted), tested.example)
    (both, said, true, events), drawn = counts.sum(-1), bootstrap_counts(counts)
    low, high = interval(f1(*drawn[:3]))
    score, always = f1(both, said, true), f1(true, events, true)
    return [
        Detected(
            says=says,
            unit=units.names[best[atom]],
            events=int(true[atom]),
            f1=float(score[atom]),
            low=float(low[atom]),
            high=float(high[atom]),
            constant=float(always[atom]),
        )
        for atom, says in enumerate(tested.names)
    ]


def _scores(properties: Properties, active: np.ndarray) -> Float[np.ndarray, "units atoms"]:
    rows, atoms = active.astype(np.float32), properties.values.astype(np.float32)
    return f1(rows @ atoms.T, rows.sum(1)[:, None], atoms.sum(1))
