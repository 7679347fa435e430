"""Describes the units of a trained model from their activity on two panels.

units       the activity of each unit at each event of a panel
properties  the properties of each event
descriptions are chosen on a calibration panel, frozen, and scored on a test panel
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from quantascope.quanta.properties import Properties
from quantascope.runs.artefact import write_table
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.files import remove_partials
from quantascope.semantics import Detected, Named, Score, Units, detectors, name_units
from quantascope.semantics.name import PERMUTATIONS

SEMANTICS = "semantics.parquet"
"""File of unit descriptions, saved beside the units."""


@dataclass(frozen=True)
class Subject:
    """The subject of an explanation: units by kind, and properties, both on the events of a panel's inputs.

    `units` also takes the engine and the callback of `measure_field`, in case a field has to be measured first.
    `panels` are the calibration and test panels. For each of the `probes`, the best detector is found. Results are
    saved in `folder` with the hash `made_by`.
    """

    title: str
    folder: Path
    made_by: str
    panels: tuple[str, str]
    keys: Callable[[str], Iterable[Any]]
    units: Callable[..., Mapping[str, Units]]
    properties: Callable[[str], Properties]
    probes: Callable[[str], Properties] | None = None
    warning: str | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    """The descriptions of a subject's units, and the best detector of each probe."""

    subject: Subject
    calibration: str
    test: str
    named: Mapping[str, list[Named]]
    detected: Mapping[str, list[Detected]]

    def table(self) -> pl.DataFrame:
        """One row for each unit, the best described first, constant units last."""
        rows = [
            {
                "kind": kind,
                "unit": one.unit,
                "description": one.words,
                **(asdict(one.score) if one.score else {}),
                "tells": one.tells,
                "events": one.events,
                "active": one.active,
            }
            for kind, named in self.named.items()
            for one in named
        ]
        scores = {field.name: pl.Float64 for field in fields(Score)}
        schema = {
            "kind": pl.String, "unit": pl.String, "description": pl.String, **scores,
            "tells": pl.Boolean, "events": pl.Int64, "active": pl.Float64,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema).sort("f1", descending=True, nulls_last=True, maintain_order=True)

    def detector_table(self) -> pl.DataFrame:
        """One row for each probed property with its best detector."""
        return pl.DataFrame(
            [{"kind": kind, **asdict(one)} for kind, found in self.detected.items() for one in found]
        )

    def save(self) -> Path:
        """Save the table beside the units."""
        file = self.subject.folder / SEMANTICS
        remove_partials(self.subject.folder)
        write_table(file, self.table(), made_by=self.subject.made_by)
        return file

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON."""
        return {
            "units": self.subject.title,
            "calibration": self.calibration,
            "test": self.test,
            "names": self.table().to_dicts(),
            "detectors": self.detector_table().to_dicts(),
        }


def explain(
    subject: Subject,
    *,
    calibration: str | None = None,
    test: str | None = None,
    permutations: int = PERMUTATIONS,
    **measuring: Any,
) -> Explanation:
    """Choose descriptions on one panel, freeze them, and score them on another panel without common inputs."""
    panels = calibration or subject.panels[0], test or subject.panels[1]
    shared = len(set.intersection(*(set(subject.keys(panel)) for panel in panels)))
    if shared:
        raise InvalidConfig(
            f"panels {panels[0]} and {panels[1]} share {shared:,} inputs; test descriptions on others"
        )
    units = [subject.units(panel, **measuring) for panel in panels]
    properties = [subject.properties(panel) for panel in panels]
    probes = [subject.probes(panel) for panel in panels] if subject.probes else None
    named, found = {}, {}
    for kind in units[0]:
        active = [both[kind] for both in units]
        named[kind] = name_units(*zip(properties, active, strict=True), permutations=permutations)
        found[kind] = detectors(*zip(probes, active, strict=True)) if probes else []
    return Explanation(subject, *panels, named, found)
