"""Calibrate, freeze, test: descriptions of units, compared with uninformative baselines.

calibrate   the best description of each unit on one panel
freeze      it is not changed again
test        its F1 on events of other examples; intervals over examples, since their events are dependent

F1 alone is too high for a unit that is often active. It is therefore compared with the F1 of a description that
always holds, and with the F1 of the same search, calibrated and tested, on labels shuffled among the unit's judged
events.
"""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig
from quantascope.semantics.describe import Description, describe
from quantascope.semantics.score import bootstrap_counts, example_counts, f1, interval
from quantascope.semantics.units import Units, shared_atoms

PERMUTATIONS = 20
MOST_PERMUTATIONS = 10**6

Panel = tuple[Properties, Units]


@dataclass(frozen=True, kw_only=True)
class Score:
    """F1 of a frozen description on the test panel, with its 95 % bootstrap interval over examples.

    `constant` is the F1 of a description that always holds, `permuted` the mean F1 for shuffled labels; `gain` is
    the F1 above `constant`, with its interval over the same draws.
    """

    f1: float
    low: float
    high: float
    constant: float
    permuted: float
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True, kw_only=True)
class Named:
    """A described unit. A unit that is always or never active on its judged events has no description or score.

    `events` is the number of judged events of the test panel, `active` the share on which the unit is active.
    """

    unit: str
    words: str
    events: int
    active: float
    description: Description | None = None
    score: Score | None = None

    @property
    def tells(self) -> bool:
        """Whether the description is better than one that always holds, and than chance."""
        return self.score is not None and self.score.gain_low > 0 and self.score.low > self.score.permuted


def name_units(calibration: Panel, test: Panel, *, permutations: int = PERMUTATIONS, seed: int = 0) -> list[Named]:
    """Describe every unit; each panel is a property table with the units' activity on the same events."""
    _check(calibration, test, permutations)
    atoms = shared_atoms(calibration[0], test[0])
    constant = calibration[1].constant | test[1].constant
    kept = np.flatnonzero(~constant).tolist()
    calibrated, tested = (_chosen(panel[1], kept) for panel in (calibration, test))
    named = iter(_tested(atoms, calibrated, tested, permutations, seed) if kept else [])
    return [
        _constant(calibration[1], test[1], unit) if constant[unit] else next(named)
        for unit in range(len(constant))
    ]


def _tested(
    atoms: tuple[Properties, Properties], calibrated: Units, tested: Units, permutations: int, seed: int
) -> list[Named]:
    descriptions = describe(atoms[0], calibrated)
    described = np.stack([description.holds(atoms[1]) for description in descriptions])
    counts = example_counts(described, tested.active, tested.judged, atoms[1].example)
    whole, drawn = counts.sum(-1), bootstrap_counts(counts)
    (score, always), (scores, constants) = (
        (f1(both, said, active), f1(active, judged, active)) for both, said, active, judged in (whole, drawn)
    )
    permuted = _permuted(atoms, calibrated, tested, permutations, seed)
    columns = (score, *interval(scores), always, permuted, score - always, *interval(scores - constants))
    return [
        Named(
            unit=tested.names[unit],
            words=str(description),
            events=int(whole[3, unit]),
            active=float(whole[2, unit] / whole[3, unit]),
            description=description,
            score=Score(**dict(zip(_SCORES, (float(column[unit]) for column in columns), strict=True))),
        )
        for unit, description in enumerate(descriptions)
    ]


def _permuted(
    atoms: tuple[Properties, Properties], calibrated: Units, tested: Units, permutations: int, seed: int
) -> np.ndarray:
    """Mean test F1 of the whole search for labels shuffled among each unit's judged events."""
    rng = np.random.default_rng(seed)
    total = np.zeros(len(tested))
    for _ in range(permutations):
        shuffled, asked = (
            Units(units.names, _shuffled(units.active, units.judged, rng), units.judged)
            for units in (calibrated, tested)
        )
        described = np.stack([description.holds(atoms[1]) for description in describe(atoms[0], shuffled)])
        judged = described & asked.judged
        total += f1((judged & asked.active).sum(1), judged.sum(1), asked.active.sum(1))
    return total / permutations


def _shuffled(
    active: Bool[np.ndarray, "units events"], judged: Bool[np.ndarray, "units events"], rng: np.random.Generator
) -> Bool[np.ndarray, "units events"]:
    out = active.copy()
    for row, where in zip(out, judged, strict=True):
        row[where] = rng.permutation(row[where])
    return out


def _constant(calibrated: Units, tested: Units, unit: int) -> Named:
    judged, active = int(tested.judged[unit].sum()), int(tested.active[unit].sum())
    if not calibrated.judged[unit].any() or not judged:
        words = "constant: its owner is never active"
    else:
        share = (active + calibrated.active[unit].sum()) / (judged + calibrated.judged[unit].sum())
        words = "constant: never active" if share == 0 else "constant: always active"
        words += "" if share in (0, 1) else " or never, in one of the panels"
    return Named(unit=tested.names[unit], words=words, events=judged, active=active / judged if judged else 0.0)


def _chosen(units: Units, kept: list[int]) -> Units:
    return Units(tuple(units.names[unit] for unit in kept), units.active[kept], units.judged[kept])


def _check(calibration: Panel, test: Panel, permutations: int) -> None:
    if not 1 <= permutations <= MOST_PERMUTATIONS:
        raise InvalidConfig(f"{permutations} permutations give no baseline; give 1 to {MOST_PERMUTATIONS:,}")
    for properties, units in (calibration, test):
        if properties.events != units.active.shape[1]:
            raise InvalidConfig(
                f"properties of {properties.events:,} events but activity on {units.active.shape[1]:,}; "
                "give both on the same events"
            )
    if calibration[1].names != test[1].names:
        raise InvalidConfig("the panels hold different units; give the same units on both")


_SCORES = tuple(field.name for field in fields(Score))
