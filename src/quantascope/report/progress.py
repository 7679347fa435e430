"""Progress displays: live bars on a terminal, occasional lines in a log."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from quantascope.report.text import plain, say
from quantascope.runs.progress import Progress
from quantascope.runs.sweep import RunStatus

_SECONDS_BETWEEN_LOG_LINES = 30.0


class SweepDisplay:
    """A display of the status of all runs: run, step, loss, acquired functions and time left."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._is_live = console.is_terminal
        self._bar = ProgressBar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("step {task.fields[step]}", markup=False),
            TextColumn("{task.fields[outcome]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            speed_estimate_period=3600,  # a step of a large run takes longer than the default, half a minute
            disable=not self._is_live,
        )
        self._began, self._logged = time.monotonic(), 0.0

    def __enter__(self) -> "SweepDisplay":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, statuses: list[RunStatus]) -> None:
        for place, status in enumerate(statuses):
            self._update(place, status)
        now = time.monotonic()
        due = now - self._logged >= _SECONDS_BETWEEN_LOG_LINES or all(s.finished for s in statuses)
        if due and not self._is_live:
            self._logged = now
            say(self._line(statuses, now - self._began), aside=True)

    def _update(self, place: int, status: RunStatus) -> None:
        if place == len(self._bar.tasks):
            self._bar.add_task(plain(status.label), total=status.steps, step="", outcome="")
        self._bar.update(
            self._bar.tasks[place].id,
            description=plain(status.label),
            completed=status.step,
            step=f"{status.step:,} of {status.steps:,}",
            outcome=_outcome(status),
        )

    def _line(self, statuses: list[RunStatus], elapsed: float) -> str:
        """Log the number of finished runs, and a line for each run that advances."""
        finished = sum(s.finished for s in statuses)
        lines = [f"[{clock(elapsed)}] {finished} of {len(statuses)} runs done"]
        for status, task in zip(statuses, self._bar.tasks, strict=True):
            if not status.finished and (status.step or len(statuses) == 1):
                words = (task.description, f"step {task.fields['step']}", task.fields["outcome"])
                left = f"{clock(task.time_remaining)} left"
                lines.append("    " + "   ".join(word for word in (*words, left) if word))
        return "\n".join(lines)


@contextmanager
def one_run(label: str, steps: int) -> Iterator[Progress]:
    """Shows the progress of a single run; step 0 means that it is being prepared."""
    with SweepDisplay() as display:
        yield lambda step, loss, acquired=None: display(
            [RunStatus(label if step else f"{label} (preparing)", steps, step, loss, step == steps, acquired)]
        )


@contextmanager
def intervals(console: Console | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """Shows the number of measured intervals of a field, with the time left."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield IntervalLog()
        return
    description = TextColumn("{task.description}", markup=False)
    columns = (description, *ProgressBar.get_default_columns()[1:], MofNCompleteColumn())
    with ProgressBar(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(plain(what), total=of)
            bar.update(tasks[what], completed=done)

        yield report


class IntervalLog:
    """Logs an occasional line, and one when a field is complete."""

    def __init__(self) -> None:
        self._began = self._logged = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._logged >= _SECONDS_BETWEEN_LOG_LINES or done == of:
            self._logged = now
            line = f"[{clock(now - self._began)}] {what}: {done} of {of} intervals"
            say(line, aside=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Log an occasional line with the number done, when the total is unknown."""
    began = logged = time.monotonic()

    def report(done: int) -> None:
        nonlocal logged
        if (now := time.monotonic()) - logged >= _SECONDS_BETWEEN_LOG_LINES:
            logged = now
            say(f"[{clock(now - began)}] {done:,} {what}", aside=True)

    yield report


def _outcome(status: RunStatus) -> str:
    """The loss, unknown before the first step, and the number of acquired functions, if counted."""
    known = status.loss is not None and not math.isnan(status.loss)
    loss = [f"loss {status.loss:.4f}"] if known else []
    return "   ".join(loss + ([] if status.acquired is None else [f"acquired {status.acquired:4d}"]))


def clock(seconds: float | None) -> str:
    """Seconds as minutes and seconds, with hours if needed, or as days.

    >>> clock(75.2), clock(3675.0), clock(200_000.0)
    ('1:15', '1:01:15', '2.3 days')
    """
    if seconds is None:
        return "?"
    if seconds >= 86_400:
        return f"{seconds / 86_400:.1f} days"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
