"""What the units of a trained model do, in words: their activity on two panels, named and tested.

factors    supports that the frozen curves assign to the panels' events
qmodel     gates of a fitted Q-model, and its writers where their owner is active
compiled   gates of a program's Q-model, in the words of the program
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import polars as pl
import torch

from quantascope.discovery import Factors, Rule, assign
from quantascope.discovery.discover import measure_field
from quantascope.qmodel.compiled.fit import CompiledLearner, CompiledRun, lesson, read_compiled
from quantascope.qmodel.recovered.fidelity import activity, panel_events
from quantascope.qmodel.recovered.fit import (
    SEMANTICS,
    Recipe,
    RecoveredRun,
    qmodel_folder,
    read_factors,
    read_fit,
)
from quantascope.quanta.properties import Properties
from quantascope.runs.artefact import read_json, write_table
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.run_directory import RunDirectory
from quantascope.semantics import Detected, Named, Score, Units, detectors, name_units
from quantascope.semantics.name import PERMUTATIONS
from quantascope.sources.trained import Source, panel_numbers, read_source
from quantascope.tasks.number_naming.properties import naming_properties, zero_properties

LIBRARY = "number-naming"
"""The property table of number naming; any other name is a program's."""

UNRELIABLE = (
    "the priority field does not account for the loss, so its factors are no quanta; see quantascope discover"
)
QUANTUM, WRITER = "quantum", "writer"
AT_ONCE = 512
"""Examples that a compiled Q-model runs at once."""


@dataclass(frozen=True)
class Subject:
    """What is explained: units by kind, and properties, both on the events of a panel's inputs.

    `units` also takes the engine and the listener of `measure_field`, should something have to be measured first.
    `panels` are those of calibration and test. `zeros` is the table of an audit: whether any single unit tells
    each of its properties. What is found is kept in `folder` under the hash `made_by`.
    """

    says: str
    folder: Path
    made_by: str
    panels: tuple[str, str]
    inputs: Callable[[str], Sequence[Any]]
    units: Callable[..., Mapping[str, Units]]
    properties: Callable[[str], Properties]
    zeros: Callable[[str], Properties] | None = None
    warning: str | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    """The units of a subject in words, and which unit tells each zero best."""

    subject: Subject
    calibration: str
    test: str
    named: Mapping[str, list[Named]]
    zeros: Mapping[str, list[Detected]]

    def table(self) -> pl.DataFrame:
        """One row for each unit, the best told first; constant ones last."""
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

    def zero_table(self) -> pl.DataFrame:
        """For each property of the audit the unit that tells it best."""
        return pl.DataFrame([{"kind": kind, **asdict(one)} for kind, found in self.zeros.items() for one in found])

    def save(self) -> Path:
        """Keep the table beside the units."""
        file = self.subject.folder / SEMANTICS
        write_table(file, self.table(), made_by=self.subject.made_by)
        return file

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "units": self.subject.says,
            "calibration": self.calibration,
            "test": self.test,
            "names": self.table().to_dicts(),
            "zeros": self.zero_table().to_dicts(),
        }


def explain(
    subject: Subject,
    *,
    calibration: str | None = None,
    test: str | None = None,
    permutations: int = PERMUTATIONS,
    **measuring: Any,
) -> Explanation:
    """Choose descriptions on one panel, freeze them, and score them on another that shares no input with it."""
    panels = calibration or subject.panels[0], test or subject.panels[1]
    shared = set.intersection(*(set(subject.inputs(panel)) for panel in panels))
    if shared:
        raise InvalidConfig(
            f"panels {panels[0]} and {panels[1]} share {len(shared):,} inputs; test descriptions on others"
        )
    units = [subject.units(panel, **measuring) for panel in panels]
    properties = [subject.properties(panel) for panel in panels]
    zeros = [subject.zeros(panel) for panel in panels] if subject.zeros else None
    named, found = {}, {}
    for kind in units[0]:
        active = [both[kind] for both in units]
        named[kind] = name_units(*zip(properties, active, strict=True), permutations=permutations)
        found[kind] = detectors(*zip(zeros, active, strict=True)) if zeros else []
    return Explanation(subject, *panels, named, found)


def subject_of(
    run: Path,
    *,
    units: Literal["factors", "qmodel"] | None = None,
    recipe: Recipe = "faithful",
    properties: str | None = None,
) -> Subject:
    """What there is to explain in a run: the units asked for, or its Q-model, or its factors."""
    if _is_compiled(run):
        if units or properties:
            raise InvalidConfig(
                f"{run} holds a compiled Q-model, which speaks its program's words; ask for no others"
            )
        return compiled_subject(read_compiled(run), run)
    source = read_source(run)
    if units == "qmodel" or (units is None and qmodel_folder(run, recipe).is_dir()):
        return qmodel_subject(read_fit(source, recipe), properties or LIBRARY)
    factors, facts = read_factors(source)
    found = factor_subject(source, factors, facts["rule"], properties or LIBRARY)
    return found if facts["reliable"] else replace(found, warning=UNRELIABLE)


def _is_compiled(run: Path) -> bool:
    file = run / "config.json"
    found = read_json(file) if file.is_file() else None
    return isinstance(found, dict) and found.get("kind") == CompiledLearner.__name__


def factor_subject(source: Source, factors: Factors, rule: Rule, properties: str = LIBRARY) -> Subject:
    """The supports that frozen curves assign to the events of a panel."""
    if not len(factors):
        raise InvalidConfig(
            f"{source.path} has no factors to name; "
            f"lower the threshold: quantascope discover {source.path} --threshold 0.01"
        )

    def units(panel: str, **measuring: Any) -> dict[str, Units]:
        with RunDirectory(source.path, source.config).locked():
            field = measure_field(source, rule, panel, **measuring)
        return {QUANTUM: Units.of(factors.names, assign(factors, field.values).supports)}

    says = f"factors of {source.path}"
    return _naming_subject(says, source, units, properties, source.path, source.config.hash())


def qmodel_subject(run: RecoveredRun, properties: str = LIBRARY) -> Subject:
    """Gates and writers of a recovered Q-model."""

    def units(panel: str, **measuring: Any) -> dict[str, Units]:
        seen = activity(run.model, panel_events(run.source.config, panel))
        writers = [name for own in run.model.writer_names for name in own]
        return {
            QUANTUM: Units.of(run.model.names, seen.gates),
            WRITER: Units.owned(writers, seen.writers, seen.owner, seen.gates),
        }

    says = f"{run.config.recipe} Q-model of {run.source.path}"
    return _naming_subject(says, run.source, units, properties, run.path, run.config.hash())


def compiled_subject(run: CompiledRun, path: Path) -> Subject:
    """Gates of a compiled Q-model, whatever its program, in the words of that program."""
    taught = lesson(run.config.program)
    task = taught.task

    @torch.no_grad()
    def units(panel: str, **measuring: Any) -> dict[str, Units]:
        events = task.events(task.panel(panel))
        parts = [events[start : start + AT_ONCE] for start in range(0, len(events), AT_ONCE)]
        active = torch.cat([run.model.run(part).activity for part in parts], 1) > 0.5
        return {QUANTUM: Units.of(taught.compiled.graph.names, active.numpy())}

    known = [panel for panel in ("calibration", "test", "development", "evaluation") if panel in task.panels]
    if len(known) < 2:
        raise InvalidConfig(f"the task of {run.config.program} has no two panels to name and test on; add them")
    return Subject(
        says=f"gates of the compiled Q-model {path}",
        folder=path,
        made_by=run.config.hash(),
        panels=(known[0], known[1]),
        inputs=task.panel,
        units=units,
        properties=lambda panel: taught.compiled.trace(task.panel(panel)).properties,
    )


def _naming_subject(
    says: str,
    source: Source,
    units: Callable[..., Mapping[str, Units]],
    properties: str,
    folder: Path,
    made_by: str,
) -> Subject:
    def inputs(panel: str) -> tuple[int, ...]:
        return panel_numbers(source.config, panel)

    return Subject(
        says=says,
        folder=folder,
        made_by=made_by,
        panels=("calibration", "test"),
        inputs=inputs,
        units=units,
        properties=lambda panel: naming_table(properties, inputs(panel)),
        zeros=lambda panel: zero_table(inputs(panel)),
    )


@cache
def naming_table(properties: str, numbers: tuple[int, ...]) -> Properties:
    """The property table of number naming, or of a program that writes the same names."""
    ours = naming_properties(numbers)
    if properties == LIBRARY:
        return ours
    trace = lesson(properties).compiled.trace(numbers)
    if trace.example.shape != ours.example.shape or (trace.example != ours.example).any():
        raise InvalidConfig(
            f"the program {properties} writes other outputs than the source was trained on; "
            f"give a program of the same task, or {LIBRARY}"
        )
    return trace.properties


@cache
def zero_table(numbers: tuple[int, ...]) -> Properties:
    """The audit of zeros."""
    return zero_properties(numbers)
