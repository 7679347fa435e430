"""The field of a source's panel, measured once and kept as `priority/RULE-PANEL.safetensors`."""

import shutil
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

FieldProgress = Callable[[str, int, int], None]
"""Called with what is measured, how many intervals are done, and of how many."""


def measure_field(
    source: Source,
    rule: Rule,
    panel: str = "training",
    *,
    engine: Executor | None = None,
    memory: float = 2e9,
    progress: FieldProgress | None = None,
) -> PriorityField:
    """The field of a panel's events along the source's trajectory."""
    made_by = field_origin(source, rule, panel)
    file = field_file(source, rule, panel)
    parts = file.with_suffix(".parts")
    if file.exists():
        kept = read_field(source, rule, panel)
        shutil.rmtree(parts, ignore_errors=True)  # there if the last call was killed after it had saved the field
        return kept
    checkpoints = _digests(source)
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
    measured.save(file, made_by=made_by, checkpoints=checkpoints)
    shutil.rmtree(parts, ignore_errors=True)
    return measured


def read_field(source: Source, rule: Rule, panel: str = "training") -> PriorityField:
    """The field that was measured before; refused if there is none, or if a checkpoint has changed since."""
    file = field_file(source, rule, panel)
    if not file.exists():
        raise DamagedArtefact(f"{file} is not there; measure it with {source.command('discover')}")
    kept = PriorityField.load(file, made_by=field_origin(source, rule, panel), events=source.examples(panel))
    _refuse_other_checkpoints(file, _digests(source))
    return kept


def announced_cost(source: Source, rule: Rule, *, memory: float = 2e9) -> FieldCost | None:
    """Time and memory of the training events' field; None if it was measured before."""
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


def field_file(source: Source, rule: Rule, panel: str) -> Path:
    """Where the field of a panel is kept."""
    return source.folder / "priority" / f"{rule}-{panel}.safetensors"


def field_origin(source: Source, rule: Rule, panel: str) -> str:
    """The hash of what makes the field of a panel."""
    return fingerprint({"source": source.identity, "rule": rule, "panel": panel})


def _digests(source: Source) -> dict[str, str]:
    """A hash of each checkpoint, by its step."""
    return {str(step): source.trajectory.digest(index) for index, step in enumerate(source.steps)}


def _refuse_other_checkpoints(file: Path, checkpoints: dict[str, str]) -> None:
    """Refuse a field of checkpoints that have changed since; one that does not say its checkpoints is taken."""
    kept = read_facts(file).get("checkpoints", checkpoints)
    same = kept if isinstance(kept, dict) else {}
    other = [step for step, digest in checkpoints.items() if same.get(step) != digest]
    if other:
        raise RunMismatch(
            f"{file} was measured from another checkpoint of step {other[0]}; restore that, or move the field away"
        )
