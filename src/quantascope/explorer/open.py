"""Opens the runs at given locations, each as its kind."""

from collections.abc import Sequence
from pathlib import Path

import torch

from quantascope.acquisition.learner import HSPLearner
from quantascope.explorer.forest_run import ForestRun
from quantascope.explorer.guided_run import GuidedNetworkRun
from quantascope.explorer.program_run import ProgramRun
from quantascope.explorer.shown_run import ShownRun
from quantascope.explorer.source_run import SourceRun
from quantascope.guidance.learner import GuidedLearner
from quantascope.models.device import CPU
from quantascope.programs import is_built_in
from quantascope.qmodel.compiled.fit import CompiledLearner
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.run_directory import RunDescription, is_run, read_run
from quantascope.sources.trained import SourceConfig

MOST_RUNS = 12


def open_runs(
    places: Sequence[str],
    *,
    task: str | None = None,
    program: str | None = None,
    device: torch.device = CPU,
    bare: bool = False,
) -> list[ShownRun]:
    """Open the runs at these locations; `bare` names them without their paths.

    Raises if a location is not a run. A damaged run is opened, and its intact parts are shown. A task or program
    applies to the runs that were made with a file.
    """
    if not 1 <= len(places) <= MOST_RUNS:
        raise InvalidConfig(f"{len(places)} runs are given; give 1 to {MOST_RUNS}")
    opened: list[ShownRun] = []
    for number, where in enumerate(places):
        path = Path(where)
        run = read_run(path) if path.is_dir() and is_run(path) else None
        identity, named = str(number), _bare_name(path) if bare else where
        own = None if len(places) > 1 and run and _is_of_built_in(run) else (task, program)
        own_task, own_program = own or (None, None)
        if run and run.kind == CompiledLearner.KIND:
            opened.append(ProgramRun(id=identity, where=where, named=named, program=own_program))
        elif run and run.kind == HSPLearner.KIND:
            opened.append(ForestRun(id=identity, where=where, named=named))
        elif run and run.kind == GuidedLearner.KIND:
            opened.append(GuidedNetworkRun(id=identity, where=where, named=named))
        else:
            options = f" --task {own_task}" if own_task and not bare else ""
            source = SourceRun(
                id=identity, where=where, named=named, task=own_task, device=device, options=options
            )
            opened.append(_checked(source, run))
    sources = [run for run in opened if isinstance(run, SourceRun)]
    for source in sources:
        source.beside.extend(sources)
    return opened


def _bare_name(path: Path) -> str:
    return path.name or path.resolve().name


def _is_of_built_in(run: RunDescription) -> bool:
    """Whether a run was made with a task or program that ships with quantascope."""
    made_with = run.config.get("task", run.config.get("program"))
    return isinstance(made_with, str) and is_built_in(made_with)


def _checked(run: SourceRun, described: RunDescription | None) -> SourceRun:
    """Open a source, or a damaged run of one."""
    try:
        _ = run.source
    except (DamagedArtefact, RunMismatch):
        if described is None or described.kind != SourceConfig.KIND:
            raise
    return run
