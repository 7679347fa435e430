"""A sweep while it runs: a live table on a terminal, a line now and then in a log."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.progress import MofNCompleteColumn, TaskID
from rich.progress import Progress as ProgressBar
from rich.table import Table

from quantascope.runs.progress import Progress
from quantascope.runs.sweep import RunStatus

_SECONDS_BETWEEN_LOG_LINES = 30.0


class SweepDisplay:
    """Call it with the status of all runs; it shows run, step, loss, acquired functions and time left."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, transient=True) if self._console.is_terminal else None
        self._began, self._logged = time.monotonic(), 0.0
        self._first: dict[str, tuple[float, int]] = {}

    def __enter__(self) -> "SweepDisplay":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, statuses: list[RunStatus]) -> None:
        now = time.monotonic()
        left = {status.label: self._left(status, now) for status in statuses}
        if self._live:
            self._live.update(_table(statuses, left))
        elif now - self._logged >= _SECONDS_BETWEEN_LOG_LINES or all(s.finished for s in statuses):
            self._logged = now
            print(_line(statuses, left, now - self._began), file=sys.stderr, flush=True)

    def _left(self, status: RunStatus, now: float) -> float | None:
        """Seconds that this run still needs at the pace seen since it was first seen moving."""
        if status.step == 0:
            return None
        first = self._first.get(status.label)
        if first is None or status.step < first[1]:
            self._first[status.label] = (now, status.step)
            return None
        began, start = first
        done = status.step - start
        return (now - began) / done * (status.steps - status.step) if done else None


@contextmanager
def one_run(label: str, steps: int) -> Iterator[Progress]:
    """Shows the progress of a single run; step 0 means that it prepares."""
    with SweepDisplay() as display:
        yield lambda step, loss, acquired=None: display(
            [RunStatus(label if step else f"{label} (preparing)", steps, step, loss, step == steps, acquired)]
        )


@contextmanager
def intervals(console: Console | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """Shows how many intervals of which field are measured, with the time left."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield IntervalLog()
        return
    columns = (*ProgressBar.get_default_columns(), MofNCompleteColumn())
    with ProgressBar(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def told(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done)

        yield told


class IntervalLog:
    """A line now and then, and one when a field is complete."""

    def __init__(self) -> None:
        self._began = self._logged = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._logged >= _SECONDS_BETWEEN_LOG_LINES or done == of:
            self._logged = now
            line = f"[{clock(now - self._began)}] {what}: {done} of {of} intervals"
            print(line, file=sys.stderr, flush=True)


def _table(statuses: list[RunStatus], left: dict[str, float | None]) -> Table:
    table = Table("run", "step", "of", "loss", "acquired", "time left")
    for status in statuses:
        loss = f"{status.loss:.4f}" if _is_known(status.loss) else ""
        acquired = "" if status.acquired is None else f"{status.acquired}"
        remaining = "done" if status.finished else "waiting" if status.step == 0 else clock(left[status.label])
        table.add_row(status.label, f"{status.step:,}", f"{status.steps:,}", loss, acquired, remaining)
    return table


def _line(statuses: list[RunStatus], left: dict[str, float | None], elapsed: float) -> str:
    """How many runs are done, and a line for each that moves."""
    finished = sum(s.finished for s in statuses)
    moving = [s for s in statuses if not s.finished and (s.step or len(statuses) == 1)]
    lines = [f"[{clock(elapsed)}] {finished} of {len(statuses)} runs done"]
    for status in moving:
        loss = f"   loss {status.loss:.4f}" if _is_known(status.loss) else ""
        acquired = "" if status.acquired is None else f"   acquired {status.acquired:4d}"
        step = f"step {status.step:,} of {status.steps:,}"
        lines.append(f"    {status.label}   {step}{loss}{acquired}   {clock(left[status.label])} left")
    return "\n".join(lines)


def _is_known(loss: float | None) -> bool:
    """Before its first step a run has no loss, or NaN."""
    return loss is not None and not math.isnan(loss)


def clock(seconds: float | None) -> str:
    """Seconds as minutes and seconds, with hours or as days where there are.

    >>> clock(75.2), clock(3675.0), clock(200_000.0)
    ('1:15', '1:01:15', '2.3 days')
    """
    if seconds is None:
        return "?"
    if seconds >= 86_400:
        return f"{seconds / 86_400:.1f} days"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
