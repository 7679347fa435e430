"""Opens what can be explained: the factors of a source, its Q-model, or the Q-model of a program."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch

from quantascope.discovery.discover import read_factors
from quantascope.discovery.factorize import assign
from quantascope.discovery.factors import Factors
from quantascope.discovery.interval import Rule
from quantascope.discovery.measure import measure_field
from quantascope.models.device import CPU, device_of
from quantascope.qmodel.compiled.fit import CompiledLearner, CompiledRun, read_compiled
from quantascope.qmodel.recovered.config import FitPreset
from quantascope.qmodel.recovered.fidelity import activity
from quantascope.qmodel.recovered.fit import RecoveredRun, qmodel_folder, read_fit
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.run_directory import is_run, read_run
from quantascope.semantics.explain import Subject
from quantascope.semantics.tables import property_table
from quantascope.semantics.units import Units
from quantascope.sources.open import open_source
from quantascope.sources.source import Source
from quantascope.tasks.task import Roles, SymbolTask

UNRELIABLE = "the priority field does not account for the loss, so its factors are not quanta"
QUANTUM, WRITER = "quantum", "writer"
AT_ONCE = 512
"""Examples that a compiled Q-model runs at once."""


def find_subject(
    where: str,
    *,
    units: Literal["factors", "qmodel"] | None = None,
    preset: FitPreset | None = None,
    properties: str | None = None,
    task: str | None = None,
    program: str | None = None,
    device: str | torch.device | None = None,
) -> Subject:
    """Open the subject at a location: a source, or a compiled Q-model; a program in a file must be named."""
    path = Path(where)
    if path.is_dir() and is_run(path) and read_run(path).kind == CompiledLearner.KIND:
        if units or preset or properties:
            raise InvalidConfig(
                f"{where} holds a compiled Q-model, which is described by its program; leave out --units, "
                "--preset and --properties"
            )
        return compiled_subject(read_compiled(path, program=program, device=device or CPU), path)
    if program:
        raise InvalidConfig(f"{where} is not a compiled Q-model; leave out --program {program}")
    source = open_source(where, task=task, device=device)
    return subject_of(source, units=units, preset=preset, properties=properties)


def subject_of(
    source: Source,
    *,
    units: Literal["factors", "qmodel"] | None = None,
    preset: FitPreset | None = None,
    properties: str | None = None,
) -> Subject:
    """The subject of a source: the requested units or preset, by default its Q-model, or else its factors."""
    if units == "factors" and preset:
        raise InvalidConfig(f"factors have no preset; leave out --preset {preset}, or --units factors")
    chosen: FitPreset = preset or "faithful"
    if units == "qmodel" or preset or (units is None and qmodel_folder(source, chosen).is_dir()):
        return qmodel_subject(read_fit(source, chosen), properties)
    factors, facts = read_factors(source)
    shown = source.command("discover")
    warning = None if facts["reliable"] else f"{UNRELIABLE}; {shown} shows how much it accounts for"
    return factor_subject(source, factors, facts["rule"], properties, warning)


def factor_subject(
    source: Source, factors: Factors, rule: Rule, properties: str | None = None, warning: str | None = None
) -> Subject:
    """The supports that frozen curves assign to the events of a panel."""
    if not len(factors):
        lower = source.command("discover", "--threshold")
        raise InvalidConfig(f"{source.folder} has no factors to name; lower the threshold: {lower} …")

    def units(panel: str, **measuring: Any) -> dict[str, Units]:
        with source.locked():
            field = measure_field(source, rule, panel, **measuring)
        return {QUANTUM: Units.of(factors.names, assign(factors, field.values).supports)}

    title = f"factors of {source.folder}"
    return _source_subject(title, source, units, properties, source.folder, source.identity, warning)


def qmodel_subject(run: RecoveredRun, properties: str | None = None) -> Subject:
    """Gates and writers of a recovered Q-model."""

    def units(panel: str, **measuring: Any) -> dict[str, Units]:
        seen = activity(run.model, run.source.events(panel))
        writers = [name for own in run.model.writer_names for name in own]
        return {
            QUANTUM: Units.of(run.model.names, seen.gates),
            WRITER: Units.owned(writers, seen.writers, seen.owner, seen.gates),
        }

    title = f"{run.config.preset} Q-model of {run.source.folder}"
    return _source_subject(title, run.source, units, properties, run.path, run.config.hash())


def compiled_subject(run: CompiledRun, path: Path) -> Subject:
    """The gates of a compiled Q-model, described by its program."""
    taught = run.taught
    task = taught.task

    @torch.no_grad()
    def units(panel: str, **measuring: Any) -> dict[str, Units]:
        events = task.events(task.panel(panel))
        parts = [events[start : start + AT_ONCE] for start in range(0, len(events), AT_ONCE)]
        device = device_of(run.model)
        active = torch.cat([run.model.run(part.to(device)).activity for part in parts], 1) > 0.5
        return {QUANTUM: Units.of(taught.compiled.graph.names, active.cpu().numpy())}

    return Subject(
        title=f"gates of the compiled Q-model {path}",
        folder=path,
        made_by=run.config.hash(),
        panels=_two_panels(task.roles, f"the task of {run.config.program}"),
        keys=lambda panel: map(task.key, task.panel(panel)),
        units=units,
        properties=lambda panel: taught.compiled.trace(task.panel(panel)).properties,
    )


def _source_subject(
    title: str,
    source: Source,
    units: Callable[..., Mapping[str, Units]],
    properties: str | None,
    folder: Path,
    made_by: str,
    warning: str | None = None,
) -> Subject:
    def keys(panel: str) -> Iterable[Any]:
        return map(source.task.key, source.inputs(panel))

    probes = source.task.probes if isinstance(source.task, SymbolTask) else None
    return Subject(
        title=title,
        folder=folder,
        made_by=made_by,
        panels=_two_panels(source.task.roles, f"the task of {source.folder}"),
        keys=keys,
        units=units,
        properties=lambda panel: property_table(source, panel, properties),
        probes=probes and (lambda panel: probes(source.inputs(panel))),
        warning=warning,
    )


def _two_panels(roles: Roles, whose: str) -> tuple[str, str]:
    if roles.calibration is None or roles.test is None or roles.calibration == roles.test:
        raise InvalidConfig(
            f"{whose} needs two panels to choose and to test descriptions; name them calibration and test"
        )
    return roles.calibration, roles.test
