"""Measures the field of a source's panel once and saves it as `priority/RULE-PANEL.safetensors`."""

import os
import shlex
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from quantascope.discovery.cost import FieldCost, field_cost
from quantascope.discovery.field import PriorityField
from quantascope.discovery.interval import Rule
from quantascope.discovery.memory import check_budget
from quantascope.discovery.priority import priority_field
from quantascope.runs.artefact import read_facts
from quantascope.runs.config import fingerprint
from quantascope.runs.errors import DamagedArtefact, RunMismatch
from quantascope.sources.source import Source
from quantascope.training.doubts import doubts

DOUBTS = "doubts"
"""Entry of a field's facts: what speaks against the order or origin of its checkpoints."""
FieldProgress = Callable[[str, int, int], None]
"""A function called with a label, the number of finished intervals, and their total."""


class OutOfPlace(UserWarning):
    """Warning that checkpoints seem to be exchanged, or of another run."""


def measure_field(
    source: Source,
    rule: Rule,
    panel: str = "training",
    *,
    engine: Executor | None = None,
    memory: float = 2e9,
    progress: FieldProgress | None = None,
) -> PriorityField:
    """The field of a panel's events along the source's trajectory, loaded if it was measured before."""
    made_by = field_origin(source, rule, panel)
    file = field_file(source, rule, panel)
    parts = file.with_suffix(".parts")
    if file.exists():
        kept = read_field(source, rule, panel)
        shutil.rmtree(parts, ignore_errors=True)  # exists if the last call was killed after it saved the field
        if panel == "training" and (said := doubts_of(source, rule)):
            warn_of_doubts(source, said)
        return kept
    checkpoints, facts = _digests(source), {}
    if panel == "training" and (said := doubts(source.trajectory)):
        warn_of_doubts(source, said)
        facts = {DOUBTS: said}
    measured = priority_field(
        source.trajectory,
        source.losses,
        source.layers,
        train=source.examples(),
        events=None if panel == "training" else source.examples(panel),
        rule=rule,
        memory=memory,
        device=source.device,
        engine=engine,
        parts=parts,
        progress=progress and (lambda done, of: progress(f"{rule} priority of {panel} events", done, of)),
    )
    measured.save(file, made_by=made_by, checkpoints=checkpoints, **facts)
    shutil.rmtree(parts, ignore_errors=True)
    return measured


def read_field(source: Source, rule: Rule, panel: str = "training") -> PriorityField:
    """Load a measured field; raises if there is none, or if a checkpoint has changed since."""
    file = field_file(source, rule, panel)
    if not file.exists():
        raise DamagedArtefact(f"{file} does not exist; measure it with {source.command('discover')}")
    kept = PriorityField.load(file, made_by=field_origin(source, rule, panel), events=source.examples(panel))
    _refuse_other_checkpoints(file, _digests(source))
    return kept


def announced_cost(source: Source, rule: Rule, *, memory: float = 2e9) -> FieldCost | None:
    """Estimated time and memory of the training events' field; None if it was already measured."""
    check_budget(memory)
    if field_file(source, rule, "training").exists():
        return None
    return field_cost(
        source.trajectory,
        source.losses,
        source.layers,
        train=source.examples(),
        rule=rule,
        memory=memory,
        device=source.device,
    )


def doubts_of(source: Source, rule: Rule) -> str | None:
    """What spoke against the order or origin of the checkpoints when the training events were measured."""
    file = field_file(source, rule, "training")
    said = read_facts(file).get(DOUBTS) if file.exists() else None
    return said if isinstance(said, str) else None


def warn_of_doubts(source: Source, said: str) -> None:
    """Warn that checkpoints of a source seem to be out of place."""
    folder = os.path.commonpath([shards[0].parent for shards in source.trajectory.files])
    command = shlex.join(["quantascope", "audit", folder])
    warnings.warn(f"{said}; what is out of place looks like learning, so see {command}", OutOfPlace, stacklevel=3)


def field_file(source: Source, rule: Rule, panel: str) -> Path:
    """The file of a panel's field."""
    return source.folder / "priority" / f"{rule}-{panel}.safetensors"


def field_origin(source: Source, rule: Rule, panel: str) -> str:
    """The hash of everything that determines the field of a panel."""
    return fingerprint({"source": source.identity, "rule": rule, "panel": panel})


def _digests(source: Source) -> dict[str, str]:
    """The hash of each checkpoint, by step."""
    return {str(step): source.trajectory.digest(index) for index, step in enumerate(source.steps)}


def _refuse_other_checkpoints(file: Path, checkpoints: dict[str, str]) -> None:
    """Raise if a checkpoint has changed since; a field without checkpoint hashes is accepted."""
    kept = read_facts(file).get("checkpoints", checkpoints)
    same = kept if isinstance(kept, dict) else {}
    other = [step for step, digest in checkpoints.items() if same.get(step) != digest]
    if other:
        raise RunMismatch(
            f"{file} was measured from another checkpoint of step {other[0]}; restore that, or move the field away"
        )
