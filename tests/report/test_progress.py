"""One table of a sweep, on a terminal and in a log."""

import io

from rich.console import Console
from rich.text import Text

from quantascope.report import progress
from quantascope.report.progress import SweepDisplay, intervals, one_run
from quantascope.runs.sweep import RunStatus

STATUSES = [
    RunStatus("done", 100, 100, 0.1, True, 12),
    RunStatus("moving", 100, 40, 0.51234, False, 7),
    RunStatus("waiting", 100, 0, None, False),
]


def test_a_terminal_shows_run_step_loss_acquired_and_time_left():
    out = io.StringIO()
    with SweepDisplay(Console(file=out, width=120, force_terminal=True)) as display:
        display(STATUSES)
    rows = Text.from_ansi(out.getvalue()).plain.splitlines()
    moving = next(row.split() for row in rows if row.startswith("moving"))
    assert [moving[0], *moving[-9:]] == (
        ["moving", "step", "40", "of", "100", "loss", "0.5123", "acquired", "7", "-:--:--"]
    )
    assert any("waiting" in row for row in rows)


def test_the_time_left_is_at_the_pace_seen_since_a_run_was_taken_up_again():
    now = iter(range(0, 1000, 10))
    display = SweepDisplay(Console(file=io.StringIO()))
    display._bar.get_time = lambda: float(next(now))
    display([RunStatus("resumed", 100, 60, 0.5, False)])
    began = display._bar.tasks[0]._progress[0].timestamp
    display([RunStatus("resumed", 100, 70, 0.5, False)])
    seconds = display._bar.tasks[0]._progress[-1].timestamp - began
    assert display._bar.tasks[0].time_remaining == 30 * seconds / 10


def test_a_log_has_a_line_for_each_run_that_moves(capsys):
    with SweepDisplay(Console(file=io.StringIO())) as display:
        display(STATUSES)
        display(STATUSES)  # too soon for another
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("1 of 3 runs done")
    assert lines[1].split() == [
        "moving",
        "step",
        "40",
        "of",
        "100",
        "loss",
        "0.5123",
        "acquired",
        "7",
        "?",
        "left",
    ]
    assert len(lines) == 2


def test_a_single_run_says_that_it_prepares_before_its_first_step(capsys):
    with one_run("source/distilled", steps=6000) as progress:
        progress(0, float("nan"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].split() == ["source/distilled", "(preparing)", "step", "0", "of", "6,000", "?", "left"]


def test_a_log_says_now_and_then_how_many_intervals_are_measured_and_nothing_before(capsys, monkeypatch):
    now = iter([0.0, 1.0, 31.0, 40.0, 45.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with intervals(Console(file=io.StringIO())) as told:
        for done in range(1, 5):
            told("path priority", done, 4)
    assert capsys.readouterr().err.splitlines() == [
        "[0:31] path priority: 2 of 4 intervals",
        "[0:45] path priority: 4 of 4 intervals",
    ]
