"""One small program per violation; each complaint shows the smallest input, the quantum and the remedy."""

import itertools
import random
import re
import sys
import threading
import time

import pytest

from quantascope.program import Registry, State, compile_program, lift, when
from quantascope.program import violations as v
from quantascope.program.passes.connection import check_closure
from quantascope.program.passes.execute import Activation
from quantascope.program.tracer import Signature

WORDS = ("low", "high", ".")


class Sketch:
    """A program that says whether a number is below five, then a full stop; tests replace parts of it."""

    def __init__(self) -> None:
        self.registry = registry = Registry()
        self.stage = registry.quantum("STAGE", output_cardinality=2)(lambda position: min(position, 1))
        self.size = registry.quantum("SIZE", output_cardinality=2)(lambda number: int(number >= 5))
        self.word = registry.quantum("WORD", output_cardinality=2)(lambda size: WORDS[size])
        self.stop = registry.quantum("STOP", output_cardinality=1)(lambda stage: ".")

    def predict(self, state, say=None):
        stage = self.stage(state.position)
        with when(stage, 1) as over:
            if over:
                return self.stop(stage)
        with when(stage, 0) as begins:
            if begins:
                return say(state) if say else self.word(self.size(state.source))
        return None

    def compile(self, entry=None, audit=range(10), **more):
        settings = {"vocabulary": WORDS, "end": ".", **more}
        return compile_program(self.registry.entry(audit=audit, **settings)(entry or self.predict))

    def saying(self, say, audit=range(10)):
        """Compile the sketch with another way to say the word."""
        return self.compile(lambda state: self.predict(state, say), audit)


@pytest.fixture
def sketch() -> Sketch:
    return Sketch()


def expect_complaint(kind: type[v.ProgramError], compile_it, *says: str) -> v.ProgramError:
    """The complaint of a compilation that must fail, after checking that it tells these parts and a remedy."""
    with pytest.raises(kind) as caught:
        compile_it()
    assert type(caught.value) is kind
    for part in says:
        assert part in str(caught.value)
    assert "; " in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_sketch_itself_compiles(sketch):
    assert sketch.compile().graph.levels == (0, 1, 2, 1)


def test_a_registry_without_quanta(sketch):
    sketch.registry = Registry()
    expect_complaint(v.InvalidRegistry, lambda: sketch.compile(lambda state: "."), "holds no quantum")


@pytest.mark.parametrize(
    ("name", "cardinality", "says"),
    [("SIZE", 2, "quantum SIZE: is declared twice"), ("", 2, "is named ''"), ("NEW", 0, "output_cardinality=0"),
     ("NEW", True, "output_cardinality=True")],
)  # fmt: skip
def test_a_quantum_that_is_declared_wrongly(sketch, name, cardinality, says):
    expect_complaint(
        v.InvalidRegistry, lambda: sketch.registry.quantum(name, output_cardinality=cardinality)(lambda x: x), says
    )


def test_a_quantum_of_another_registry(sketch):
    foreign = Registry().quantum("WORD", output_cardinality=1)(lambda size: "low")
    expect_complaint(
        v.InvalidRegistry, lambda: sketch.saying(lambda s: foreign(s.source)),
        "quantum WORD, on input 0", "belongs to another registry",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"entry": lambda: "."}, "the entry is <lambda>()"),
        ({"entry": lambda state, more: "."}, "(state, more)"),
        ({"vocabulary": ("low", "low", ".")}, "holds 'low' twice"),
        ({"end": "!"}, "the end token '!' is not in the vocabulary"),
        ({"longest": 0}, "longest is 0"),
        ({"audit": [[1]]}, "cannot be hashed"),
    ],
)
def test_an_entry_that_cannot_be_run(sketch, changes, says):
    expect_complaint(v.InvalidEntry, lambda: sketch.compile(**changes), says)


def test_an_empty_audit_domain(sketch):
    expect_complaint(v.EmptyAudit, lambda: sketch.compile(audit=[]), "the audit domain is empty")
    expect_complaint(v.EmptyAudit, lambda: sketch.compile().trace([]), "empty")


def test_a_quantum_that_raises_is_told_with_its_line(sketch):
    broken = sketch.registry.quantum("BROKEN", output_cardinality=2)(lambda number: WORDS[6 // (number - 3)])
    error = expect_complaint(
        v.ProgramRaised, lambda: sketch.saying(lambda s: broken(s.source), range(3, 9)),
        "quantum BROKEN, on input 3", "ZeroDivisionError", "test_violations.py:",
    )  # fmt: skip
    assert (error.quantum, error.state) == ("BROKEN", State(3))


def test_an_entry_that_raises(sketch):
    def entry(state):
        raise ValueError("no\nidea")

    expect_complaint(v.ProgramRaised, lambda: sketch.compile(entry), "on input 0: raises ValueError at", "no idea")


def test_a_program_that_leaves_python(sketch):
    leave = sketch.registry.quantum("LEAVE", output_cardinality=1)(lambda number: sys.exit(3))
    expect_complaint(
        v.ProgramRaised, lambda: sketch.saying(lambda s: leave(s.source)), "LEAVE, on input 0: raises SystemExit"
    )


def test_an_audit_domain_that_can_be_read_only_once_serves_every_compilation(sketch):
    program = sketch.registry.entry(audit=iter(range(10)), vocabulary=WORDS, end=".")(sketch.predict)
    assert compile_program(program).audited == compile_program(program).audited == 20


def test_a_quantum_that_loops(sketch, monkeypatch):
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "0.5")

    def forever(number):
        while number == 4:
            time.sleep(0.001)
        return 0

    loop = sketch.registry.quantum("LOOP", output_cardinality=1)(forever)
    expect_complaint(
        v.NeverEnds,
        lambda: sketch.saying(lambda s: sketch.word(loop(s.source))),
        "on input 4: runs for more than 0.5 seconds",
    )


def test_a_quantum_that_loops_and_holds_every_exception(sketch, monkeypatch):
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "0.5")

    def stubborn(number):
        while number == 4:
            try:  # noqa: SIM105
                time.sleep(0.001)
            except:  # noqa: E722
                pass
        return 0

    loop = sketch.registry.quantum("LOOP", output_cardinality=1)(stubborn)
    tracing = sys.gettrace()
    expect_complaint(
        v.NeverEnds,
        lambda: sketch.saying(lambda s: sketch.word(loop(s.source))),
        "on input 4: runs for more than 0.5 seconds",
    )
    assert sys.gettrace() is tracing


def test_a_program_that_never_writes_its_end(sketch):
    expect_complaint(
        v.NeverEnds, lambda: sketch.compile(lambda s: sketch.word(sketch.size(s.source)), longest=7),
        "on input 0 after 'low low low low low low low'", "writes 7 tokens without the end token '.'",
    )  # fmt: skip


def test_a_compilation_outside_the_main_thread_works(sketch):
    found = []
    thread = threading.Thread(target=lambda: found.append(sketch.compile().audited))
    thread.start()
    thread.join()
    assert found == [20]


def test_a_token_outside_the_vocabulary(sketch):
    expect_complaint(
        v.UnknownToken, lambda: sketch.compile(vocabulary=("low", ".")),
        "quantum WORD, on input 5", "writes 'high', which is not in the vocabulary",
    )  # fmt: skip
    program = sketch.registry.entry(audit=[1], vocabulary=("low", "."), end=".")(sketch.predict)
    with pytest.raises(v.UnknownToken, match="on input 7: writes 'high'"):
        program.write(7)


def branches(sketch):
    """Ways in which a value may leave tracking, each with what the complaint says."""
    size, word, table = sketch.size, sketch.word, {0: "low", 1: "high"}

    def loop(state):
        for _ in lift(str, size(state.source)):
            pass
        return

    return {
        "an if": (lambda s: word(1 if size(s.source) == 1 else 0), "of SIZE decides a branch outside `when`"),
        "a while": (lambda s: next(w for w in WORDS if size(s.source) > 0), "decides a branch outside `when`"),
        "int()": (lambda s: word(1 if int(size(s.source)) else 0), "of SIZE is converted to a plain int"),
        "float()": (lambda s: float(size(s.source)), "is converted to a plain float"),
        "an index": (lambda s: WORDS[size(s.source)], "is converted to a plain integer"),
        "a key": (lambda s: table[size(s.source)], "is used as a plain key"),
        "range()": (lambda s: range(size(s.source)), "is converted to a plain integer"),
        "len()": (lambda s: len(lift(str, size(s.source))), "is passed to len()"),
        "in": (lambda s: "1" in lift(str, size(s.source)), "is searched with `in`"),
        "str()": (lambda s: str(size(s.source)), "is converted to a plain string"),
        "an f-string": (lambda s: f"{size(s.source)}", "is converted to a plain string"),
        "a loop": (loop, "decides how often a loop runs"),
        "the input": (lambda s: word(0 if s.source < 5 else 1), "of the input decides a branch"),
    }


@pytest.mark.parametrize("way", branches(Sketch()))
def test_a_value_that_escapes_is_named_with_file_and_line(sketch, way):
    say, says = branches(sketch)[way]
    error = expect_complaint(v.EscapedValue, lambda: sketch.saying(say), says, "on input 0")
    assert re.search(r"tests/program/test_violations\.py:\d+;", str(error))


def test_a_match_statement_is_a_branch(sketch):
    def say(state):
        match sketch.size(state.source):
            case 1:
                return sketch.word(1)
        return sketch.word(0)

    expect_complaint(v.EscapedValue, lambda: sketch.saying(say), "outside `when`")


def test_an_escape_that_the_program_catches_is_told_all_the_same(sketch):
    def say(state):
        size = sketch.size(state.source)
        try:
            return sketch.word(int(size))
        except Exception:
            return sketch.word(size)

    expect_complaint(v.EscapedValue, lambda: sketch.saying(say), "is converted to a plain int")


def test_a_guard_used_outside_its_block(sketch):
    def say(state):
        size = sketch.size(state.source)
        with when(size, 1) as large:
            pass
        return sketch.word(size) if large else None

    expect_complaint(v.EscapedValue, lambda: sketch.saying(say), "the guard for 1", ".py:")


def test_a_branch_that_tracing_changes_is_found_by_the_plain_run(sketch):
    other = sketch.registry.quantum("OTHER", output_cardinality=2)(lambda size: WORDS[size])

    def say(state):
        size = sketch.size(state.source)
        return other(size) if type(size) is int else sketch.word(size)

    expect_complaint(
        v.EscapedValue, lambda: sketch.saying(say),
        "on input 0", "WORD", "OTHER", "traced run", "type()",
    )  # fmt: skip


def test_an_argument_that_tracing_changes_is_not_taken_for_chance(sketch):
    def say(state):
        size = sketch.size(state.source)
        return sketch.word(0 if type(size) is int else size)

    expect_complaint(
        v.EscapedValue, lambda: sketch.saying(say),
        "quantum WORD, on input 5", "returns 'high', than in a plain run, where it returns 'low'",
    )  # fmt: skip


def test_a_loop_whose_length_depends_on_a_value(sketch):
    several = sketch.registry.quantum("SEVERAL", output_cardinality=9)(lambda number: (0,) * (1 + number // 5))

    def say(state):
        total = 0
        for part in several(state.source):
            total = total + part
        return sketch.word(total)

    expect_complaint(
        v.EscapedValue, lambda: sketch.saying(say),
        "on input 5", "has 2 parts, but 1 on input 0",
    )  # fmt: skip


def test_a_traced_value_that_a_quantum_takes_from_its_surroundings(sketch):
    kept = []
    leak = sketch.registry.quantum("LEAK", output_cardinality=2)(lambda number: kept[-1])

    def say(state):
        kept.append(sketch.size(state.source))
        return leak(state.source)

    expect_complaint(v.EscapedValue, lambda: sketch.saying(say), "quantum LEAK", "argument")


@pytest.mark.parametrize("value", [3, lambda s: s.position])
def test_a_guard_without_a_quantum(sketch, value):
    def say(state):
        with when(value(state) if callable(value) else value, 3) as active:
            if active:
                return sketch.word(sketch.size(state.source))
        return sketch.word(sketch.size(state.source))

    expect_complaint(v.UntracedGuard, lambda: sketch.saying(say), "does not come from a quantum", ".py:")


def test_a_guard_that_mixes_in_the_input(sketch):
    def say(state):
        size = sketch.size(state.source)
        with when(size + state.source, 3) as active:
            if active:
                return sketch.word(size)
        return sketch.word(size)

    expect_complaint(v.UntracedGuard, lambda: sketch.saying(say), "combines quanta with the input")


def test_a_quantum_inside_a_quantum(sketch):
    outer = sketch.registry.quantum("OUTER", output_cardinality=2)(lambda number: sketch.word(sketch.size(number)))
    expect_complaint(
        v.NestedQuantum, lambda: sketch.saying(lambda s: outer(s.source)),
        "quantum SIZE, on input 0", "inside OUTER",
    )  # fmt: skip


def test_a_quantum_that_runs_twice(sketch):
    expect_complaint(
        v.RepeatedQuantum,
        lambda: sketch.saying(lambda s: sketch.word(sketch.size(sketch.size(s.source)))),
        "quantum SIZE, on input 0", "a second time", ".py:",
    )  # fmt: skip


def test_an_output_that_cannot_be_counted(sketch):
    listing = sketch.registry.quantum("LISTING", output_cardinality=2)(lambda number: [number >= 5])
    expect_complaint(
        v.UnhashableOutput,
        lambda: sketch.saying(lambda s: sketch.word(lift(sum, listing(s.source)))),
        "quantum LISTING, on input 0", "returns a list",
    )  # fmt: skip


def test_chance_in_a_quantum(sketch):
    chance = random.Random(0)
    draw = sketch.registry.quantum("DRAW", output_cardinality=2)(lambda number: chance.randrange(2))
    expect_complaint(
        v.NotDeterministic,
        lambda: sketch.saying(lambda s: sketch.word(draw(s.source))),
        "quantum DRAW, on input", "in one run and",
    )  # fmt: skip


def test_chance_between_quanta(sketch):
    chance = random.Random(0)
    other = sketch.registry.quantum("OTHER", output_cardinality=2)(lambda size: WORDS[size])

    def say(state):
        size = sketch.size(state.source)
        return other(size) if chance.random() < 0.5 else sketch.word(size)

    expect_complaint(v.NotDeterministic, lambda: sketch.saying(say, range(40)), "remove randomness")


def test_memory_in_a_quantum_that_sees_equal_arguments_again(sketch):
    counter = itertools.count()
    count = sketch.registry.quantum("COUNT", output_cardinality=2)(lambda size: next(counter) // 3 % 2)
    expect_complaint(
        v.HiddenInput,
        lambda: sketch.saying(lambda s: sketch.word(count(sketch.size(s.source)))),
        "quantum COUNT, on input 3", "returns 1 for (0), and 0 for the same on input 0",
    )  # fmt: skip


def test_a_token_that_no_quantum_wrote(sketch):
    expect_complaint(
        v.NoEmitter, lambda: sketch.compile(lambda s: "."), "on input 0", "returns '.', which no quantum wrote"
    )
    expect_complaint(v.NoEmitter, lambda: sketch.compile(lambda s: None), "returns None")
    expect_complaint(v.NoEmitter, lambda: sketch.compile(lambda s: s.source), "returns 0, which no quantum wrote")


def test_a_token_that_is_changed_on_the_way(sketch):
    expect_complaint(
        v.NoEmitter,
        lambda: sketch.saying(lambda s: sketch.word(sketch.size(s.source)) + "er"),
        "quantum WORD, on input 0", "'lower' was changed after the quantum returned",
    )  # fmt: skip


def test_a_token_composed_from_two_quanta(sketch):
    again = sketch.registry.quantum("AGAIN", output_cardinality=2)(lambda size: WORDS[size])

    def say(state):
        size = sketch.size(state.source)
        return sketch.word(size) + again(size)

    expect_complaint(v.SeveralEmitters, lambda: sketch.saying(say), "'lowlow'", "WORD, AGAIN")


def test_parents_that_differ_between_inputs(sketch):
    def say(state):
        size = sketch.size(state.source)
        with when(size, 0) as small:
            if small:
                return sketch.word(0)
        return sketch.word(size)

    expect_complaint(
        v.UnstableParents, lambda: sketch.saying(say),
        "quantum WORD, on input 5", "depends on (SIZE) under STAGE", "and on (the input alone) under STAGE, SIZE",
    )  # fmt: skip


def test_a_quantum_that_leads_nowhere(sketch):
    idle = sketch.registry.quantum("IDLE", output_cardinality=10)(lambda number: number)

    def say(state):
        idle(state.source)
        return sketch.word(sketch.size(state.source))

    expect_complaint(v.Unconnected, lambda: sketch.saying(say), "quantum IDLE, on input 0")


def test_a_quantum_that_never_runs(sketch):
    sketch.registry.quantum("DEAD", output_cardinality=1)(lambda number: number)
    expect_complaint(v.DeadQuantum, sketch.compile, "quantum DEAD", "20 events")


def test_a_quantum_whose_output_is_ignored(sketch):
    ignored = sketch.registry.quantum("IGNORED", output_cardinality=10)(lambda number: number)
    word = sketch.registry.quantum("BLIND", output_cardinality=2)(lambda size, ignored: WORDS[size])
    entry = lambda s: sketch.predict(s, lambda s: word(sketch.size(s.source), ignored(s.source)))  # noqa: E731
    sketch.registry._quanta = [quantum for quantum in sketch.registry.quanta if quantum.name != "WORD"]
    for index, quantum in enumerate(sketch.registry.quanta):
        object.__setattr__(quantum, "index", index)
    expect_complaint(v.NoEffect, lambda: sketch.compile(entry), "quantum IGNORED, on input 0", "changes no token")


def test_more_outputs_than_declared(sketch):
    wide = sketch.registry.quantum("WIDE", output_cardinality=7)(lambda number: number)
    expect_complaint(
        v.CardinalityExceeded,
        lambda: sketch.saying(lambda s: sketch.word(sketch.size(wide(s.source)))),
        "quantum WIDE, on input 7", "returns 7, one output more than its output_cardinality=7",
    )  # fmt: skip


def test_a_value_kept_from_another_event_breaks_downward_closure():
    registry, kept = Registry(), {}
    even = registry.quantum("EVEN", output_cardinality=1)(lambda number: 0)
    parity = registry.quantum("PARITY", output_cardinality=2)(lambda number: number % 2)
    word = registry.quantum("WORD", output_cardinality=1)(lambda old, parity: ".")

    def predict(state):
        now = parity(state.source)
        with when(now, 0) as is_even:
            if is_even:
                kept["value"] = even(state.source)
        return word(kept["value"], now)

    program = registry.entry(audit=range(4), vocabulary=["."], end=".")(predict)
    expect_complaint(
        v.NotClosed, lambda: compile_program(program), "quantum WORD, on input 1", "EVEN, which does not run"
    )


def test_the_closure_check_accepts_parents_that_ran_before():
    shape = ((0, Signature((0,), 0)), (1, Signature((1,), 1)))
    check_closure(("A", "B"), {Activation(shape, 1): State(0)})
    with pytest.raises(v.ProgramError):
        check_closure(("A", "B"), {Activation(shape[1:], 1): State(0)})


@pytest.fixture
def small_numbers_only(sketch):
    """Compiled on numbers below ten; from 200 on, WORD also depends on PARITY, and from 300 on not on TOTAL."""
    registry = sketch.registry = Registry()
    parity = registry.quantum("PARITY", output_cardinality=2)(lambda number: number % 2)
    total = registry.quantum("TOTAL", output_cardinality=9)(lambda parity, number: parity + number // 100)
    word = registry.quantum("WORD", output_cardinality=2)(lambda total, extra: WORDS[total % 2])
    stage = registry.quantum("STAGE", output_cardinality=2)(lambda position: min(position, 1))
    stop = registry.quantum("STOP", output_cardinality=1)(lambda stage: ".")

    def predict(state):
        now = stage(state.position)
        with when(now, 1) as over:
            if over:
                return stop(now)
        with when(now, 0) as begins:
            if begins:
                digit = parity(state.source)
                both, extra = total(digit, state.source), 0
                with when(both, 2) as rare:
                    if rare:
                        extra = digit
                with when(both, 3) as rarer:
                    if rarer:
                        both = 0
                return word(both, extra)
        return None

    return sketch.compile(predict)


def test_an_unseen_dependency_shows_input_and_edge(small_numbers_only):
    with pytest.raises(v.UnseenDependency, match="on input 200: the edge PARITY -> WORD was not seen") as caught:
        small_numbers_only.trace([7, 100, 200])
    assert caught.value.state == State(200)


def test_a_parent_that_is_missing_in_a_new_domain_is_told(small_numbers_only):
    with pytest.raises(v.UnstableParents, match="quantum WORD, on input 300: runs without its parent TOTAL"):
        small_numbers_only.trace([300])


def test_an_unseen_output_beyond_the_cardinality_shows_its_input(sketch):
    wide = sketch.registry.quantum("WIDE", output_cardinality=10)(lambda number: number)
    compiled = sketch.saying(lambda s: sketch.word(sketch.size(wide(s.source))))
    with pytest.raises(v.CardinalityExceeded, match="quantum WIDE, on input 10: returns 10"):
        compiled.trace([3, 10, 11])
