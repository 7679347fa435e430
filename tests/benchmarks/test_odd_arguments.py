"""How the benchmark of odd arguments judges the end of a call, and that it sees what a terminal shows."""

import subprocess
import sys
from pathlib import Path

import pytest

from odd_arguments import judged

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("code", "complaint", "said", "terminal", "kind"),
    [
        (2, "quantascope: no\n", "", False, "refusal"),
        (2, "quantascope: no\nquantascope: never\n", "", False, "several lines"),
        (2, "Traceback: no\n", "", False, "traceback"),
        (2, "quantascope: out of memory; lower it\n", "", False, "memory taken"),
        (0, "", "a table\n", False, "result"),
        (0, "quantascope: warning: few\n", "a table\n", False, "result"),
        (3, "", "", False, "exit code"),
        (-11, "", "", False, "signal"),
        (-9, "", "", False, "hang"),
        (-9, "step 3\n", "", False, "long"),
        (2, "quantascope: \x1b[31mno\n", "", False, "control characters"),
        (2, "quantascope: a\u202eb\n", "", False, "control characters"),
        (0, "", "a \x9btable\n", False, "control characters"),
        (0, "", "a \rtable\n", False, "control characters"),
        (2, "quantascope: no\n", "", True, "refusal"),
        (2, "\x1b[2K\x1b[1mstep 3\x1b[0m quantascope: no\n", "", True, "refusal"),
        (2, "quantascope: \x1b[1mno\n", "", True, "control characters"),
        (2, "quantascope: │ \\x1b[31mno\n", "", True, "refusal"),
        (0, "\x1b[1mtable\x1b[0m\n", "", True, "result"),
    ],
)
def test_a_call_is_judged_by_its_end_and_by_all_that_it_wrote(code, complaint, said, terminal, kind):
    assert judged(code, complaint, said, terminal=terminal).kind == kind


def test_a_wrong_call_is_a_refusal_in_a_terminal_and_without_one():
    # In a process of its own: it forks, which a process that has used polars must not.
    code = """if True:
        import tempfile
        from pathlib import Path
        from odd_arguments import outcome
        place = Path(tempfile.mkdtemp()) / "called"
        place.mkdir()
        for terminal in (True, False):
            for call in (["discover"], ["fit", "x", "--preset", "a\\x1b[31m\\nb"], ["simulate", "--depth", "2"]):
                print(outcome(call, place, terminal=terminal).kind)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "benchmarks"
    )
    assert done.stdout.split() == ["refusal", "refusal", "result"] * 2
