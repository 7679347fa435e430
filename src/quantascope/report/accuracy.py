"""Reports the accuracy of a trained network, a compiled Q-model or a guided network, and a Q-model's knowledge."""

from pathlib import Path
from typing import Any

import polars as pl

from quantascope.guidance.guide import GuidedRun
from quantascope.qmodel.compiled.fit import CompiledRun
from quantascope.qmodel.compiled.knowledge import Knowledge
from quantascope.qmodel.compiled.program_task import ProgramTask
from quantascope.report.tables import captured, text_table
from quantascope.sources.source import Source


def accuracy_text(source: Source, table: pl.DataFrame) -> str:
    """Accuracy by panel and length of the prompt."""
    columns = ("panel", "length", "inputs", "token %", "exact %", "nats")
    out = text_table(*columns, title=_training_title(source), names=0)
    for panel, length, inputs, token, exact, nll in table.iter_rows():
        style = "bold" if length == "all" else None
        cells = (f"{inputs:,}", f"{100 * token:.1f}", f"{100 * exact:.1f}", f"{nll:.3f}")
        out.add_row(panel if length == "all" else "", length, *cells, style=style)
    return captured(out)


def _training_title(source: Source) -> str:
    title = f"{source.folder}: {source.steps[-1]:,} steps"
    rising = source.rising_share
    return title if rising is None else f"{title}, the loss rose in {100 * rising:.1f} % of them"


def compiled_json(out: Path, run: CompiledRun) -> dict[str, Any]:
    """The outcome of a compiled Q-model as JSON; older runs have no record of their knowledge."""
    known = {} if run.knowledge is None else {"knowledge": run.knowledge.model_dump(mode="json")}
    return {"run": str(out), **run.accuracy, **known}


def compiled_text(out: Path, run: CompiledRun) -> str:
    """The outcome of a compiled Q-model as a table."""
    known = [] if run.knowledge is None else _knowledge_lines(run.knowledge)
    return "\n".join([*_shares(run.accuracy), *known, *_notes(run.taught, run.config.trained_on), f"run  {out}"])


def guided_json(out: Path, run: GuidedRun) -> dict[str, Any]:
    """The outcome of a guided network as JSON."""
    return {"run": str(out), **run.accuracy}


def guided_text(out: Path, run: GuidedRun) -> str:
    """The outcome of a guided network as a table."""
    notes = _notes(run.taught, run.config.teacher.trained_on)
    return "\n".join([*_shares(run.accuracy), *notes, f"run  {out}"])


def _shares(values: dict[str, Any]) -> list[str]:
    return [f"{name:32} {value:.1%}" for name, value in values.items()]


def _knowledge_lines(known: Knowledge) -> list[str]:
    shares = known.model_dump(exclude={"audit_inputs"}, exclude_none=True)
    asked = (
        f"{known.audit_inputs:,} inputs of the program's audit domain that were not trained on"
        if known.audit_inputs
        else "nothing, because no input of the program's audit domain is both unseen and valid for the task"
    )
    return [*_shares(shares), f"note  audit: {asked}"]


def _notes(taught: ProgramTask, learned: str) -> list[str]:
    """Note the inputs of reported panels that were training inputs."""
    task = taught.task
    return [
        f"note  {known:,} of the {len(task.panel(panel)):,} inputs of {panel} were trained on"
        for panel in task.reported
        if (known := task.in_both(panel, learned))
    ]
