"""Whatever a program does, it ends in one line: loops, crashes, exceptions that resist, and output without end."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from quantascope.cli import main
from quantascope.program import Registry, compile_program
from quantascope.program import violations as v
from quantascope.programs import find_program, find_task
from quantascope.tasks.sequence import SequenceTask

PROGRAM = """
import ctypes, itertools, os, re, signal, subprocess, sys, threading, time
from quantascope.program import Registry, when
from quantascope.tasks.sequence import SequenceTask

AUDIT, TOKENS = range(4), ["even", "odd"]
registry = Registry()


def misbehave(number):
    BODY


@registry.quantum("PARITY", output_cardinality=4)
def parity(number):
    return misbehave(number) if number == 2 else number % 2


@registry.quantum("WORD", output_cardinality=2)
def word(parity):
    return TOKENS[parity]


IMPORTED


@registry.entry(audit=AUDIT, vocabulary=TOKENS, end="odd", longest=3)
def predict(state):
    return word(parity(state.source + state.position))
"""

NESTED = """
    while True:
        try:
            try:
                while True: time.sleep(0.001)
            except: pass
        except: pass
"""
DISARMED = """
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)
    while True: pass
"""
BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))\n    while True: pass"
RECURSION = "sys.setrecursionlimit(10**9)\n    return misbehave(number)"
JOINED = "one = threading.Thread(target=lambda: sum(range(10**11)))\n    one.start()\n    one.join()"
UNREGISTERED = "__import__('faulthandler').unregister(signal.SIGUSR1)\n    while True: pass"
LOOPS = {
    "a plain loop": "while True: pass",
    "a C loop that sums": "return sum(range(10**11))",
    "a C loop that searches": "return 1 in itertools.repeat(0)",
    "a regular expression": "return re.match('(a+)+$', 'a' * 60 + 'b')",
    "sleep": "time.sleep(10**6)",
    "nested bare except": NESTED,
    "every signal ignored": DISARMED,
    "every signal blocked": BLOCKED,
    "a raised recursion limit": RECURSION,
    "a thread": JOINED,
    "a process": "subprocess.run(['sleep', '1000000'])",
    "printing": "while True: print('again')",
    "a disarmed dump": UNREGISTERED,
}
UNKNOWN_PLACE = ("every signal ignored", "every signal blocked", "a disarmed dump")
"""Where the child is kept from telling. Of a deep recursion it tells the innermost frames alone."""


@pytest.fixture
def short(monkeypatch):
    """A short limit, and on a busy machine all the time to tell the place."""
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "0.5")
    monkeypatch.setattr("quantascope.runs.isolation.run.TELLING", 40.0)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the program with a misbehaving quantum, or with more code that runs when it is imported."""
    monkeypatch.chdir(tmp_path)

    def write(body="return 0", imported=""):
        (tmp_path / "mine.py").write_text(PROGRAM.replace("BODY", body).replace("IMPORTED", imported))
        return "mine.py"

    return write


def complaint(capsys, *arguments):
    """The line with which a command fails, after what the program printed."""
    assert main([*arguments]) == 2
    captured = capsys.readouterr()
    *printed, line = captured.err.splitlines()
    assert line.startswith("quantascope: ")
    assert "; " in line
    assert line.isprintable()
    assert len(line) < 1000
    assert captured.out == ""
    return line, "\n".join(printed)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.usefixtures("short")
def test_a_loop_in_a_quantum_ends_with_its_input_and_line(write, capsys, monkeypatch, loop):
    if loop in UNKNOWN_PLACE:
        monkeypatch.setattr("quantascope.runs.isolation.run.TELLING", 0.5)
    line, _ = complaint(capsys, "compile", write(LOOPS[loop]))
    assert "on input 2: runs for more than 0.5 seconds" in line
    assert ("seconds at mine.py:" in line) == (loop not in UNKNOWN_PLACE)
    assert ("quantum PARITY" in line) == (loop not in (*UNKNOWN_PLACE, "a raised recursion limit"))


@pytest.mark.parametrize("loop", ["a plain loop", "a C loop that sums", "nested bare except"])
@pytest.mark.usefixtures("short")
def test_a_loop_at_import_ends_with_its_line(write, capsys, loop):
    line, _ = complaint(capsys, "compile", write(LOOPS[loop], "misbehave(0)"))
    assert "mine.py cannot be imported: runs for more than 0.5 seconds at mine.py:" in line


@pytest.mark.parametrize("audit", ["(n for n in itertools.repeat(0) if n)", "iter(lambda: sum(range(10**11)), 0)"])
@pytest.mark.usefixtures("short")
def test_a_loop_in_the_audit_domain_ends(write, capsys, audit):
    line, _ = complaint(capsys, "compile", write(imported=f"AUDIT = {audit}"))
    assert "mine.py cannot be imported: runs for more than 0.5 seconds at mine.py:" in line


def test_imports_of_a_file_are_progress(write, tmp_path, monkeypatch):
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "2")
    names = [f"imported_{number}" for number in range(3)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("import time; time.sleep(0.9)")
    assert find_program(write("return 0", f"import {', '.join(names)}")).name == "predict"


@pytest.mark.parametrize(
    ("crash", "says"),
    [
        ("os._exit(0)", "ends its process with exit code 0"),
        ("os.abort()", "ends its process by SIGABRT at mine.py:11"),
        ("ctypes.string_at(0)", "ends its process by SIGSEGV at mine.py:11"),
        ("os.kill(os.getpid(), 9)", "ends its process by SIGKILL"),
        ("sys.exit(3)", "SystemExit at mine.py:11: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt at mine.py:11"),
        ("[0] * 10**10", "MemoryError at mine.py:11; fix "),
    ],
)
def test_a_crash_is_told_with_its_input(write, capsys, crash, says):
    line, _ = complaint(capsys, "compile", write(crash))
    assert "on input 2: " in line
    assert says in line
    line, _ = complaint(capsys, "compile", write(crash, "misbehave(0)"))
    assert "cannot be imported: " in line
    assert says in line


EXCEPTION = "class Odd({base}):\n        def __str__(self): {text}\n    raise Odd"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (EXCEPTION.format(base="BaseException", text="return 'no'"), "raises Odd at mine.py:13: no; "),
        (EXCEPTION.format(base="Exception", text="raise ValueError"), "(its message cannot be shown)"),
        (EXCEPTION.format(base="Exception", text="raise self"), "(its message cannot be shown)"),
        ("raise ValueError('x' * 10**6)", "ValueError at mine.py:11: xxx"),
        ("raise ValueError('one\\n two\\x1b[31m\\x07')", "ValueError at mine.py:11: one two\\x1b[31m\\x07; "),
        ("return 10**5000", "raises IndexError"),
    ],
)
def test_an_exception_is_told_in_one_short_line(write, capsys, body, says):
    line, _ = complaint(capsys, "compile", write(body))
    assert "on input 2: " in line
    assert says in line


@pytest.mark.parametrize("depth", [900, 10**5])
def test_a_deep_tuple_is_told_in_one_line(write, capsys, depth):
    body = f"for _ in range({depth}): number = (number,)\n    return number"
    line, _ = complaint(capsys, "compile", write(body))
    assert "on input 2: " in line
    assert "raises " in line


@pytest.mark.usefixtures("short")
def test_a_quantum_that_ends_on_its_own_arguments_only_is_told_so():
    registry = Registry()
    parity = registry.quantum("PARITY", output_cardinality=2)(lambda number: number % 2)
    word = registry.quantum("WORD", output_cardinality=2)(
        lambda parity, number: ["even", "odd"][sum(1 for _ in iter(lambda: parity != number % 2, False)) or parity]
    )
    entry = registry.entry(audit=[1, 2], vocabulary=["even", "odd"], end="odd", longest=3)
    with pytest.raises(v.NeverEnds, match=r"with the output of another quantum replaced .*; make it terminate"):
        compile_program(
            entry(lambda state: word(parity(state.source + state.position), state.source + state.position))
        )


@pytest.mark.parametrize("name", ["RES[/]ULT", "[bold]", r"$\\frac{$", "{0}%s"])
def test_a_name_is_shown_as_it_is(write, capsys, name):
    file = Path(write())
    file.write_text(file.read_text().replace('"PARITY"', f'"{name}"'))
    assert main(["compile", str(file), "--figure", "graph.png"]) == 0
    assert name.replace("\\\\", "\\") in capsys.readouterr().out
    assert Path("graph.png").stat().st_size > 0


VALUE = """
    class Value:
        def __hash__(self): return 0
        def __eq__(self, other): return False
        {method}
    return Value()
"""


@pytest.mark.parametrize(
    "method", ["def __repr__(self): raise ValueError", "def __repr__(self): return 'x' * 10**6"]
)
def test_a_value_that_cannot_be_shown_is_told_in_one_short_line(write, capsys, method):
    assert "cannot be hashed or compared" in complaint(capsys, "compile", write(VALUE.format(method=method)))[0]


def test_a_comparison_that_raises_is_told_with_its_line(write, capsys):
    text = (
        "class Value(int):\n    def __eq__(self, other): raise BaseException('no')\n    __hash__ = int.__hash__\n"
    )
    line, _ = complaint(capsys, "compile", write("return Value()", text))
    assert "quantum PARITY, on input 2: returns a Value, which cannot be hashed or compared" in line


def test_a_quantum_is_named_in_printable_letters():
    with pytest.raises(v.InvalidRegistry, match="a quantum is named") as caught:
        Registry().quantum("TWO\nLINES", output_cardinality=2)
    assert str(caught.value).isprintable()


def test_what_a_program_prints_goes_to_stderr_and_is_bounded(write, capsys):
    name = write("print('here\\x1b[31m'); os.write(1, b'raw'); print('x' * 10**6); return 0", "print('imported')")
    assert main(["compile", name, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["edges"] == [["PARITY", "WORD"]]
    assert captured.err.startswith("imported\nhere\N{REPLACEMENT CHARACTER}[31m\nraw")
    assert captured.err.count("imported") == 1
    assert len(captured.err) < 11_000
    assert "more bytes that the program prints are not shown" in captured.err


def test_a_program_reads_nothing_from_the_terminal(write, capsys):
    assert "raises EOFError at mine.py:11" in complaint(capsys, "compile", write("return int(input())"))[0]


def test_a_thread_left_behind_in_a_quantum_ends_with_it(write):
    body = "threading.Thread(target=lambda: time.sleep(10**6)).start()\n    return 0"
    assert compile_program(find_program(write(body))).graph.names == ("PARITY", "WORD")


def test_a_thread_left_behind_by_a_file_is_refused(write, capsys):
    line, _ = complaint(
        capsys, "compile", write("return 0", "threading.Thread(target=lambda: time.sleep(10**6)).start()")
    )
    assert "mine.py leaves a thread running" in line


@pytest.mark.parametrize(
    ("left", "says"),
    [("misbehave", "runs for more than 0.5 seconds at mine.py:"), ("os.abort", "ends its process by SIGABRT")],
)
@pytest.mark.usefixtures("short")
def test_what_a_file_leaves_for_the_exit_must_end(write, capsys, left, says):
    exits = f"import atexit\natexit.register({left}, *{'[0]' if left == 'misbehave' else '[]'})"
    line, _ = complaint(capsys, "compile", write(LOOPS["a plain loop"], exits))
    assert f"mine.py has an exit handler that fails: {says}" in line


def forever(number):
    while number == 7:
        pass
    return number % 2


@pytest.mark.usefixtures("short")
def test_a_registry_in_memory_is_limited_too():
    registry = Registry()
    parity = registry.quantum("PARITY", output_cardinality=2)(forever)
    word = registry.quantum("WORD", output_cardinality=2)(lambda parity: ["even", "odd"][parity])
    entry = registry.entry(audit=[1, 2], vocabulary=["even", "odd"], end="odd", longest=3)
    compiled = compile_program(entry(lambda state: word(parity(state.source + state.position))))
    with pytest.raises(
        v.NeverEnds, match=r"quantum PARITY, on input 6: .* at .*test_time_limit.py:\d+, after 1 token;"
    ):
        compiled.trace([5, 6])
    assert list(compiled.trace([4]).written()) == [("even", "odd")]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"prompt": lambda n: itertools.cycle("0")}, "`prompt` of input 0 "),
        ({"answer": lambda n: sum(range(10**11))}, "`answer` of input 0 runs for more than 0.5 seconds at "),
        ({"panels": {"training": itertools.count}}, "panel 'training' "),
        (
            {"panels": {"training": lambda: sum(range(10**11))}},
            "panel 'training' runs for more than 0.5 seconds at ",
        ),
    ],
)
@pytest.mark.usefixtures("short")
def test_a_task_that_loops_is_told_by_its_part(monkeypatch, part, says):
    monkeypatch.setattr("quantascope.runs.isolation.child.MEMORY", 1 << 28)
    whole = {"prompt": str, "answer": lambda n: (".",), "panels": {"training": lambda: [0]}, "reported": ()}
    task = SequenceTask(vocabulary=("PAD", "BOS", "SEP", ".", "0"), positions=8, **{**whole, **part})
    with pytest.raises(Exception, match=f"^{says}"):
        task.events(task.panel("training"))


def test_the_limit_must_be_a_number_of_seconds(write, capsys, monkeypatch):
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "soon")
    assert "QUANTASCOPE_TIME_LIMIT is 'soon'; set it to" in complaint(capsys, "compile", write())[0]


def test_a_large_vocabulary_is_checked_in_linear_time(write):
    name = write(imported="TOKENS = TOKENS + [str(n) for n in range(100_000)]")
    assert compile_program(find_program(name)).audited == 6


def test_an_endless_answer_is_refused_by_its_bound(write, capsys):
    file = Path(write())
    file.write_text(file.read_text().replace("longest=3", "longest=10**9"))
    assert "longest is 1000000000; allow at most 10,000 tokens" in complaint(capsys, "compile", str(file))[0]


def test_a_crash_at_import_does_not_end_the_command(write):
    done = subprocess.run(
        [sys.executable, "-m", "quantascope.cli", "compile", write("return 0", "os._exit(0)")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_task_beside_a_program_is_found_after_its_file_was_tried(write):
    parts = "positions=8, prompt=str, answer=str, panels={'training': list}, reported=()"
    more = f"task = SequenceTask(vocabulary=('PAD', 'BOS', 'SEP'), {parts})"
    assert find_task(write("return 0", more)).positions == 8
