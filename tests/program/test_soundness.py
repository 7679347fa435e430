"""No graph without a true dependency is accepted, and no sound program is refused."""

import importlib.util
import os
import sqlite3
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hidden_dependencies import HIDDEN, Sketch, shared

from quantascope.program import compile_program, lift, when
from quantascope.program import violations as v
from quantascope.programs import find_program

REFUSALS = (
    v.ChangedArgument, v.CrossedGuards, v.EscapedChoice, v.EscapedValue, v.HiddenDependency, v.HiddenInput,
    v.NotDeterministic, v.UncheckableArgument,
)  # fmt: skip
WRITTEN = sorted((Path(__file__).parent / "written").glob("*.py"))


@pytest.mark.parametrize("case", HIDDEN)
def test_a_hidden_dependency_is_refused(case):
    with pytest.raises(REFUSALS):
        compile_program(HIDDEN[case]())


def load(file):
    """The module of a file, in this process alone."""
    name = f"written_{file.stem}"
    specification = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.stem)
def test_a_sound_program_has_the_graph_that_was_derived_by_hand(file):
    module = load(file)
    compiled = compile_program(module.predict)
    assert sorted(map(tuple, compiled.to_json()["edges"])) == sorted(
        (parent, child) for parent, children in module.EDGES.items() for child in children.split()
    )
    assert set(compiled.passed_guards) == getattr(module, "PASSED", set())
    assert [" ".join(tokens) for tokens in compiled.trace(module.WRITES).written()] == [*module.WRITES.values()]


def test_an_argument_that_cannot_be_read_is_refused_by_name():
    s = Sketch(RESULT=lambda number, table: number % 3)
    for held, kind in [(threading.local(), "_local"), ({"a": [threading.Lock()]}, "lock"), (iter(()), None)]:

        def say(state, held=held):
            cause = s.cause(state.source)
            return s.word(s.half(cause), s.result(state.source, held))

        if kind is None:
            assert compile_program(s.program(say)).audited == 24
            continue
        with pytest.raises(v.UncheckableArgument) as caught:
            compile_program(s.program(say))
        says = f"quantum RESULT, on input 0: is given as 'table' a {kind}, whose content cannot be read"
        assert says in str(caught.value)


def test_a_quantum_of_which_no_call_can_be_repeated_elsewhere_is_refused():
    class Opener:
        def __reduce_ex__(self, protocol):
            if protocol == 4:  # as the compiler reads it
                return object, ()
            raise TypeError("not between processes")

        def __deepcopy__(self, memo):
            return self

    s = Sketch(RESULT=lambda number, table: number % 3)

    def say(state):
        return s.word(s.half(s.cause(state.source)), s.result(state.source, Opener()))

    says = "quantum RESULT, on input 0: is given arguments that cannot be sent to another process, such as 0, <"
    with pytest.raises(v.UncheckableArgument, match=says):
        compile_program(s.program(say))


def test_a_plan_in_a_database_is_refused():
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as database:
        database.execute("create table plan (number integer primary key, cause integer)")
        program = shared(
            database,
            lambda plan, n: plan.execute("insert or replace into plan values (?, ?)", (n, n % 2)) and None,
            lambda plan, n: plan.execute("select cause from plan where number = ?", (n,)).fetchone()[0],
        )
        with pytest.raises(v.UncheckableArgument, match="a Connection, whose content cannot be read"):
            compile_program(program)


def test_a_plan_in_an_open_file_is_refused():
    def store(pad, number):
        pad.seek(number)
        pad.write(str(number % 2))

    def read(pad, number):
        pad.seek(number)
        return int(pad.read(1))

    with tempfile.TemporaryFile("w+") as pad:
        program = shared(pad, store, read)
        with pytest.raises(v.UncheckableArgument, match="a TextIOWrapper, whose content cannot be read"):
            compile_program(program)


def test_an_argument_that_cannot_be_copied_is_refused():
    class Table(dict):
        def __deepcopy__(self, memo):
            raise ValueError("only one")

    s, table = Sketch(RESULT=lambda number, table: number % 3), Table()
    with pytest.raises(v.UncheckableArgument, match=r"that cannot be copied \(ValueError: only one\), so"):
        compile_program(
            s.program(lambda state: s.word(s.half(s.cause(state.source)), s.result(state.source, table)))
        )


PROGRAM = """
import datetime, os, pathlib, random, time, uuid
from quantascope.program import Registry, when

WORDS = ("anna", "bert", "cora", "dirk", "emma", "finn", "gila", "hugo")
NAMES = set(WORDS)
registry = Registry()
result = registry.quantum("RESULT", output_cardinality=9)(lambda number: BODY)
word = registry.quantum("WORD", output_cardinality=9)(lambda result, more: str(result + more))


@registry.entry(audit=range(8), vocabulary=[*map(str, range(18))], end="8", longest=9)
def predict(state):
    return word(result(state.source), state.position)
"""


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ("hash(WORDS[number]) % 8", v.HiddenInput, "called alone in another process, finds"),
        ("list(NAMES).index(WORDS[number])", v.HiddenInput, "no set order"),
        ("number + 0 * int(time.time())", v.AmbientInput, "quantum RESULT, on input 0: reads the clock at "),
        ("number + 0 * datetime.date.today().year", v.AmbientInput, "reads the clock at "),
        ("number + 0 * len(os.environ.get('USER', ''))", v.AmbientInput, "reads the environment at "),
        ("number + 0 * os.getpid()", v.AmbientInput, "reads its process at "),
        (
            "number + 0 * int(time.strftime('%Y'))",
            v.AmbientInput,
            "quantum RESULT, on input 0: reads the clock at ",
        ),
        ("number + 0 * time.gmtime().tm_year", v.AmbientInput, "reads the clock at "),
        ("number + 0 * len(time.ctime())", v.AmbientInput, "reads the clock at "),
        ("number + 0 * len(time.asctime())", v.AmbientInput, "reads the clock at "),
        ("number + 0 * int(time.thread_time())", v.AmbientInput, "reads the clock at "),
        ("number + 0 * pathlib.Path('note').write_text('x')", v.AmbientInput, "changes the file 'note' at "),
        ("number + 0 * len([open('note', 'a').close()])", v.AmbientInput, "changes the file 'note' at "),
        ("number + 0 * len([os.mkdir(f'n{random.random()}')])", v.AmbientInput, "changes the file 'n0."),
        ("number + 0 * id(number)", v.AmbientInput, "reads an address in memory at "),
    ],
)
def test_what_differs_between_processes_is_refused(tmp_path, monkeypatch, body, kind, says):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(PROGRAM.replace("BODY", body))
    with pytest.raises(kind) as caught:
        compile_program(find_program(str(file)))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "number + 0 * time.gmtime(0).tm_year",
        "number + 0 * int(time.strftime('%Y', time.gmtime(number)))",
        "number + 0 * len(time.ctime(5) + time.asctime(time.gmtime(7)))",
        "number + 0 * len(pathlib.Path(__file__).read_text())",
        "number + 0 * len([open(os.devnull, 'w').close()])",
        "number + 0 * len(list(pathlib.Path(__file__).parent.iterdir()))",
    ],
)
def test_times_that_are_given_and_files_that_are_only_read_are_sound(tmp_path, body):
    file = tmp_path / "mine.py"
    file.write_text(PROGRAM.replace("BODY", body))
    assert compile_program(find_program(str(file))).graph.names == ("RESULT", "WORD")


def test_a_module_that_a_quantum_imports_may_be_compiled_to_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "beside_mine.py").write_text("def same(number):\n    return number\n")
    file = tmp_path / "mine.py"
    file.write_text(PROGRAM.replace("BODY", "__import__('beside_mine').same(number)"))
    assert compile_program(find_program(str(file))).graph.names == ("RESULT", "WORD")


@pytest.mark.parametrize("store", ["write", "write once", "database"])
def test_a_plan_in_a_file_is_refused(tmp_path, store):
    """CAUSE leaves on disk what RESULT reads; the file is still there when each is called alone."""

    def cause(number):
        file = tmp_path / str(number)
        if store == "database":
            with closing(sqlite3.connect(file)) as database:
                database.execute("create table if not exists plan (cause integer)")
                database.execute("insert into plan values (?)", (number % 2,))
                database.commit()
        elif store == "write" or not file.exists():
            file.write_text(str(number % 2))
        return number % 2

    def read(number):
        if store == "database":
            with closing(sqlite3.connect(tmp_path / str(number))) as database:
                return database.execute("select cause from plan").fetchone()[0]
        return int((tmp_path / str(number)).read_text())

    s = Sketch(CAUSE=cause, RESULT=lambda number: (number // 2 + read(number)) % 3)
    program = s.program(lambda state: s.word(s.half(s.cause(state.source)), s.result(state.source)))
    with pytest.raises(v.AmbientInput, match=r"the file '.*'.* at "):
        compile_program(program)


def test_another_process_agrees_with_a_program_from_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PROGRAM.replace("BODY", "sorted(NAMES).index(WORDS[number])"))
    assert compile_program(find_program(str(file))).graph.names == ("RESULT", "WORD")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("if os.environ['TZ'] == 'UTC-14': os._exit(3)", "exits with code 3"),
        ("if os.environ['TZ'] == 'UTC-14': raise OSError('none')", "mine.py cannot be imported: OSError"),
        ("while os.environ['TZ'] == 'UTC-14': pass", "gives no sign of progress for 0.5 seconds"),
    ],
)
def test_a_file_that_fails_in_another_process_ends_in_one_line(tmp_path, monkeypatch, more, says):
    file = tmp_path / "mine.py"
    file.write_text(PROGRAM.replace("BODY", "number") + more)
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    program = find_program(str(file))
    if "while" in more:
        monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "0.5")
    with pytest.raises(v.ProgramError, match=says):
        compile_program(program)


def test_a_program_of_a_session_is_not_looked_for_elsewhere():
    s = Sketch(RESULT=lambda number: number % 3)
    program = s.program(lambda state: s.word(s.half(s.cause(state.source)), s.result(state.source)))
    assert compile_program(program).audited == 24


def test_interventions_find_a_dependency_by_themselves(monkeypatch):
    """Without the check of quanta alone, the last net holds."""
    kept = {}
    s = Sketch(HALF=lambda cause: kept.update(by=cause) or cause, RESULT=lambda number: (number + kept["by"]) % 6)
    program = s.program(lambda state: s.word(s.half(s.cause(state.source)), s.result(state.source)))
    with pytest.raises(
        v.HiddenDependency,
        match=r"quantum RESULT, on input 0: finds 1 instead of 0 when CAUSE finds 1, although no value",
    ):
        compile_program(program)
    monkeypatch.setattr("quantascope.program.compile.check_interventions", lambda *_: None)
    with pytest.raises(v.HiddenInput, match="RESULT"):
        compile_program(program)


def test_a_quantum_that_raises_only_after_an_intervention_is_named():
    with pytest.raises(v.HiddenDependency) as caught:
        compile_program(HIDDEN["a table without what never occurs"]())
    assert "quantum RESULT, on input 0 after '00': raises KeyError at " in str(caught.value)
    assert ": (0, 1) instead of 0 when CAUSE finds 1" in str(caught.value)


def test_a_descendant_may_raise_after_an_intervention():
    """RESULT looks up pairs that occur, and an intervention on CAUSE makes others; the edge is there."""
    table = {(number % 2, number % 4): number % 4 for number in range(12)} | {(1, 0): 2}
    s = Sketch(RESULT=lambda cause, number: table[cause, number % 4])

    def say(state):
        cause = s.cause(state.source)
        return s.word(s.half(cause), s.result(cause, state.source))

    assert "RESULT" in compile_program(s.program(say)).graph.names


def test_a_traced_value_inside_an_opaque_object_is_refused():
    class Box:
        def __init__(self, held):
            self.held = held

    s = Sketch(RESULT=lambda number, box: number % 3)
    for hide in (Box, lambda value: lambda: value, lambda value: {"a": Box(value)}):

        def say(state, hide=hide):
            cause = s.cause(state.source)
            return s.word(s.half(cause), s.result(state.source, hide(cause)))

        with pytest.raises(v.EscapedValue, match="a value of CAUSE is held by an object"):
            compile_program(s.program(say))


def test_a_lifted_function_that_uses_a_traced_value_by_itself_is_refused():
    s = Sketch(RESULT=lambda number: number % 3)

    def say(state):
        cause = s.cause(state.source)
        return s.word(s.half(cause), s.result(lift(lambda number: number + cause, state.source)))

    with pytest.raises(v.EscapedValue, match="a value of CAUSE is held by an object"):
        compile_program(s.program(say))


def test_a_block_that_is_left_by_a_hidden_choice_is_refused():
    s = Sketch(CAUSE=lambda number: "one" if number % 2 else 0, RESULT=lambda half: half)

    def say(state):
        cause = s.cause(state.source)
        half = s.half(cause)
        with when(half, half) as active:
            if active and isinstance(cause, str):
                s.result(half)
        return s.word(half, 0)

    with pytest.raises(v.EscapedChoice, match="not made by an open guard"):
        compile_program(s.program(say))
