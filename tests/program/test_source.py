"""Programs from files: each is run once, and whatever is wrong with it ends in one line."""

import re
import sys

import pytest

from quantascope.cli import main
from quantascope.program import compile_program
from quantascope.programs import find_program, find_task

PROGRAM = """
import itertools
from dataclasses import dataclass
from quantascope.program import Registry, when
from quantascope.tasks.sequence import SequenceTask

registry = Registry()
stage = registry.quantum("STAGE", output_cardinality=2)(lambda position: min(position, 1))
size = registry.quantum("SIZE", output_cardinality=2)(lambda number: int(number >= 5))
word = registry.quantum("WORD", output_cardinality=2)(lambda size: ["low", "high"][size])
stop = registry.quantum("STOP", output_cardinality=1)(lambda stage: ".")


@registry.entry(audit=range(10), vocabulary=["low", "high", "."], end=".")
def predict(state):
    now = stage(state.position)
    with when(now, 1) as over:
        if over:
            return stop(now)
    with when(now, 0) as begins:
        if begins:
            return word(size(state.source))


task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", ".", "low", "high", *"0123456789"), positions=8, prompt=str,
    answer=predict.write, panels={"training": lambda: range(10), "evaluation": lambda: range(10)},
)
"""
SAY = "return word(size(state.source))"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a program file of this text, with parts replaced, into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(name="mine.py", *, say=None, more="", text=PROGRAM):
        if say is not None:
            text = text.replace(SAY, say.replace("\n", "\n            "))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("\n\n@registry", f"\n{more}\n\n@registry"))
        return name

    return write


def complaint(capsys, *arguments):
    """The one line of a command that fails with code 2."""
    assert main([*arguments]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("quantascope: ")
    assert "; " in line
    return line


def test_a_file_is_run_once_for_its_program_and_its_task(write, monkeypatch):
    monkeypatch.setattr(sys, "runs", 0, raising=False)
    name = write(more="import sys; sys.runs = getattr(sys, 'runs', 0) + 1")
    program, task = find_program(name), find_task(name)
    assert program is find_program(f"{name}:predict")
    assert task.answer.__self__ is program
    assert sys.runs == 1


def test_a_file_whose_text_has_changed_is_run_anew(write):
    before = find_program(write())
    after = find_program(write(say="return word(1 - size(state.source))"))
    assert (before.write(7), after.write(7)) == (("high", "."), ("low", "."))


def test_two_files_of_one_name_do_not_meet(write):
    with_class = "@dataclass(frozen=True)\nclass Kept:\n    value: int = {}\n"
    one = find_program(write("one/mine.py", more=with_class.format(1)))
    two = find_program(write("two/mine.py", more=with_class.format(2)))
    assert one.registry is not two.registry
    modules = [sys.modules[program.entry.__module__] for program in (one, two)]
    assert [module.Kept().value for module in modules] == [1, 2]
    assert compile_program(one).to_json() == compile_program(two).to_json()


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_a_byte_order_mark_and_windows_line_ends_are_fine(write, change):
    assert find_program(write(text=change(PROGRAM))).write(7) == ("high", ".")


@pytest.mark.parametrize(
    ("say", "more", "says"),
    [
        ("return word(f(0))", "def f(x): return f(x)", "raises RecursionError at mine.py:"),
        ("return word(size(state.source, 1))", "", "raises TypeError at mine.py:23: quantum SIZE: too many"),
        ("return word(sorted([size(state.source), 1])[0])", "", "decides a branch outside `when` at mine.py:23"),
        ("return word(round(size(state.source)))", "", "write lift(function, value)"),
        ("return word(''.join([size(state.source)]))", "", "mine.py:23: sequence item 0: expected str"),
        ("import copy\nreturn word(copy.copy(size(state.source)))", "", "of SIZE is copied at mine.py:24"),
        (None, "unknown_name", "cannot be imported: NameError at mine.py:13: name 'unknown_name' is not defined"),
        (None, "import sys; sys.exit(1)", "cannot be imported: SystemExit at mine.py:13: 1; fix the file"),
        (None, "while", "cannot be imported: SyntaxError: invalid syntax (mine.py, line 13)"),
        (None, "@registry.quantum('A', output_cardinality=1)\ndef a(n): yield n", "quantum A: is <function a"),
        (None, "@registry.quantum('A', output_cardinality=1)\nasync def a(n): ...", "does not return a value"),
        (None, "registry.entry(audit=itertools.count(), vocabulary='.', end='.')(print)", "more than 1,000,000"),
        (None, "other = registry.entry(audit=[1], vocabulary='.', end='.')(print)",
         "2 entries, other, predict; name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(write, capsys, say, more, says):
    assert says in complaint(capsys, "compile", write(say=say, more=more))


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("float('nan')", "returns nan, which cannot be hashed or compared"),
        ("__import__('numpy').array([n, n])", "returns a ndarray, which cannot be hashed or compared"),
        ("iter([n])", "returns a list_iterator, which cannot be hashed or compared"),
        ("object()", "returns a object, which cannot be hashed or compared"),
        ("{n}", "returns a set, which cannot be hashed or compared"),
    ],
)
def test_an_output_that_cannot_be_told_from_others(write, capsys, output, says):
    more = f"odd = registry.quantum('ODD', output_cardinality=99)(lambda n: {output})"
    name = write(say="found = size(state.source)\nodd(found)\nreturn word(found)", more=more)
    assert re.search(f"quantum ODD, on input [01]: {says}", complaint(capsys, "compile", name))


def test_a_quantum_called_as_a_method(write, capsys):
    more = "class Sizes:\n    @registry.quantum('A', output_cardinality=2)\n    def a(self, n): return n\n"
    name = write(say="return word(Sizes().a(state.source))", more=more)
    assert "quantum A, on input 0: is called as a method of Sizes at mine.py" in complaint(capsys, "compile", name)


def test_an_endless_loop_is_told_with_its_line(write, capsys, monkeypatch):
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "0.5")
    name = write(say="while True:\n    pass")
    assert "on input 0: runs for more than 0.5 seconds at mine.py:2" in complaint(capsys, "compile", name)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("missing.py", "there is no program file missing.py"),
        ("folder.py", "folder.py is a folder"),
        (
            "folder",
            "there is no program 'folder'; give a file FILE.py, or one of english, french, addition",
        ),
        ("mine.py:other", "mine.py has no entry 'other'; its entries are: predict"),
        ("empty.py", "empty.py has no entry"),
        ("binary.py", "binary.py cannot be imported: SyntaxError"),
    ],
)
def test_a_file_that_is_no_program(write, tmp_path, capsys, where, says):
    write()
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "empty.py").touch()
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    assert says in complaint(capsys, "compile", where)


def test_a_guard_that_the_program_catches_outside_its_block(write, capsys):
    opened = "found = size(state.source)\nwith when(found, 1) as large: pass\n"
    say = opened + "try:\n    bool(large)\nexcept Exception: pass\nreturn word(found)"
    assert "the guard for 1 decides a branch outside" in complaint(capsys, "compile", write(say=say))


def training(name, *more):
    small = ["training.steps=2", "training.schedule.decay_from=1", "model.width=8"]
    return ["train", "compiled", "--program", name, "--out", "run", "--set", *small, *more]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "answer=predict.write", 'answer=lambda n: ("high" if n >= 3 else "low", ".")',
            "on input 3: the program writes 'low .', but the answer of its task is 'high .'; fix the program",
        ),
        (
            "answer=predict.write", 'answer=lambda n: ("high" if n >= 5 else "low", *"." * (n // 8 + 1))',
            "on input 8: the program writes 'high .', but the answer of its task is 'high . .'",
        ),
        ("answer=predict.write", "answer=lambda n: 1 // n", "`answer` of input 0 raises ZeroDivisionError"),
        ("answer=predict.write", "answer=lambda n: None", "`answer` of input 0 raises TypeError"),
        ("prompt=str", "prompt=lambda n: 1 // n", "`prompt` of input 0 raises ZeroDivisionError"),
        ("prompt=str", "prompt=hex", "input 0 needs 'x', which is not in the vocabulary; leave it out, or add it"),
        ("lambda: range(10)}", "lambda: []}", "the panel 'evaluation' is empty"),
        ("lambda: range(10)}", "lambda: 1 // 0}", "panel 'evaluation' raises ZeroDivisionError"),
        ("lambda: range(10)}", "lambda: [10**9]}", "an example takes 13 positions of 8; raise `positions`"),
        ("task = ", "thing = ", "mine.py has no task; let it hold `task = SequenceTask(…)`"),
    ],
)  # fmt: skip
def test_a_task_that_does_not_fit_is_told_before_a_run_is_made(write, capsys, tmp_path, old, new, says):
    assert PROGRAM.count(old) == 1
    name = write(text=PROGRAM.replace(old, new))
    assert says in complaint(capsys, *training(name))
    assert says in complaint(capsys, "guide", "--program", name, "--out", "run")
    assert not (tmp_path / "run").exists()


def test_a_value_that_the_audit_did_not_show_is_not_silently_left_untaught(write, capsys, tmp_path):
    """SIZE is 1 to 8 in the audit domain, and 0 for two of the training inputs."""
    text = PROGRAM.replace("range(10), voc", "[1, 2, 3, 4, 5, 6, 7, 8], voc").replace(
        "number: int(number >= 5)", "number: number % 9"
    )
    text = text.replace('"SIZE", output_cardinality=2', '"SIZE", output_cardinality=9').replace(
        'size: ["low", "high"][size]', 'size: ["low", "high"][size > 4]'
    )
    says = "quantum SIZE, on input 0: has an output on panel 'training' that the audit domain does not show"
    assert says in complaint(capsys, *training(write(text=text)))
    assert not (tmp_path / "run").exists()
