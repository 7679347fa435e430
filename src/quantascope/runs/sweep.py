"""Runs many jobs on one engine and reports their progress.

A run is a function of a config and a folder. While it works, it writes its progress to the folder, where the
watching process reads it; this only needs a shared file system. A sweep keeps a locked ticket file beside its runs
while it lives. Workers stop their run when the sweep ends, even if no signal reaches them.
"""

import contextlib
import json
import multiprocessing
import os
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quantascope.runs.config import Config
from quantascope.runs.engine import engine_failure, interrupts_held, stop
from quantascope.runs.errors import EngineFailed, StorageFailed
from quantascope.runs.files import held, is_held, write_bytes
from quantascope.runs.progress import Progress

Work = Callable[[Any, Path, Progress | None], Any]
"""A function that makes the run of a config in a folder, or loads it if it exists."""
PROGRESS = "progress.json"
_TICKET = ".sweep-"
_SILENCE = 60.0
"""Seconds without a visible lock or a touch of its ticket after which a sweep counts as ended."""


@dataclass(frozen=True)
class RunStatus:
    """The progress of a run."""

    label: str
    steps: int
    step: int
    loss: float | None
    finished: bool
    acquired: int | None = None


Watcher = Callable[[list[RunStatus]], None]


def run_all(
    work: Work,
    jobs: Mapping[Path, Config],
    *,
    engine: Executor,
    steps: Callable[[Any], int],
    watch: Watcher | None = None,
) -> None:
    """Run every unfinished job; the first error stops the sweep and jobs that have not begun."""
    if not jobs:
        return
    jobs = {path.absolute(): config for path, config in jobs.items()}  # workers may have another working directory
    for path in jobs:
        (path / PROGRESS).unlink(missing_ok=True)  # of an earlier attempt
    place = Path(os.path.commonpath(jobs))
    _remove_dead_tickets(place)
    ticket = place / f"{_TICKET}{uuid.uuid4().hex}"
    with held(ticket):
        try:
            with interrupts_held():
                futures = {
                    path: engine.submit(_work_noting_progress, work, config, path, ticket)
                    for path, config in jobs.items()
                }
            while True:
                os.utime(ticket)
                done, pending = wait(futures.values(), timeout=0.5, return_when=FIRST_EXCEPTION)
                if watch:
                    watch([_status(path, steps(config), futures[path]) for path, config in jobs.items()])
                for future in done:
                    future.result()
                if not pending:
                    return
        except BaseException as error:
            stop(engine)
            failure = engine_failure(error)
            if failure is None:
                raise
            raise failure from error


def _remove_dead_tickets(place: Path) -> None:
    """Tickets of sweeps that were killed."""
    for ticket in place.glob(f"{_TICKET}*"):
        if not is_held(ticket):
            ticket.unlink(missing_ok=True)


def _is_alive(ticket: Path) -> bool:
    """Whether the sweep is alive: by its lock, or, if the disk hides other machines' locks, by its last touch."""
    with contextlib.suppress(OSError):
        return is_held(ticket) or time.time() - ticket.stat().st_mtime < _SILENCE
    return False


def _work_noting_progress(work: Work, config: Config, path: Path, ticket: Path) -> None:
    file = path / PROGRESS
    if not ticket.exists():
        raise EngineFailed(
            f"a worker does not see {ticket.parent} as it is here; give --out on a disk that all machines share"
        )

    def note(step: int, loss: float, acquired: int | None = None) -> None:
        if not _is_alive(ticket):
            raise EngineFailed(f"the sweep of {path} has ended; run the same command to resume")
        with contextlib.suppress(StorageFailed):  # results do not depend on the display
            write_bytes(
                file, json.dumps({"step": step, "loss": loss, "acquired": acquired}).encode(), durable=False
            )

    try:
        work(config, path, note)
    except KeyboardInterrupt:
        if multiprocessing.parent_process() is None:
            raise
        os._exit(130)  # the run is saved; otherwise the pool would start the next one
    file.unlink(missing_ok=True)


def _status(path: Path, steps: int, future: Future[None]) -> RunStatus:
    noted: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        noted = json.loads((path / PROGRESS).read_text())
    finished = future.done() and future.exception() is None
    step = steps if finished else noted.get("step", 0)
    return RunStatus(path.name, steps, step, noted.get("loss"), finished, noted.get("acquired"))
