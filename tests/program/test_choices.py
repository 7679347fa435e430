"""What is chosen under a guard must not show after it: a lost dependency is refused with file and line."""

import re

import pytest

from quantascope.program import Registry, compile_program, lift, when
from quantascope.program import violations as v

WORDS = ("low", "high", ".")


class Program:
    """SIZE of a number decides under STAGE; `say` writes the word with NUMBER, WORD and OTHER at hand."""

    def __init__(self) -> None:
        self.registry = registry = Registry()
        self.stage = registry.quantum("STAGE", output_cardinality=2)(lambda position: min(position, 1))
        self.size = registry.quantum("SIZE", output_cardinality=2)(lambda number: int(number >= 5))
        self.pair = registry.quantum("PAIR", output_cardinality=99)(lambda number: (number % 2, number % 3 > 0))
        self.word = registry.quantum("WORD", output_cardinality=2)(lambda given, more=0: WORDS[(given + more) % 2])
        self.stop = registry.quantum("STOP", output_cardinality=1)(lambda stage: ".")

    def compile(self, say, audit=range(12)):
        def predict(state):
            now = self.stage(state.position)
            with when(now, 1) as over:
                if over:
                    return self.stop(now)
            with when(now, 0) as begins:
                if begins:
                    return say(self, state)
            return None

        return compile_program(self.registry.entry(audit=audit, vocabulary=WORDS, end=".")(predict))


def a_constant(p, state):
    chosen = 0
    size, pair = p.size(state.source), p.pair(state.source)
    with when(size, 1) as large:
        if large:
            chosen = 1
    return p.word(pair[0], chosen)


def a_constant_in_an_expression(p, state):
    chosen, size, pair = 0, p.size(state.source), p.pair(state.source)
    with when(size, 1) as large:
        if large:
            chosen = 1
    return p.word(pair[0] + chosen)


def a_constant_in_a_closure(p, state):
    chosen, size, pair = 0, p.size(state.source), p.pair(state.source)
    with when(size, 1) as large:
        if large:
            chosen = 1
    return p.word(lift(lambda first: first + chosen, pair[0]))


def one_of_two_values_of_a_quantum(p, state):
    size, (chosen, other) = p.size(state.source), p.pair(state.source)
    with when(size, 1) as large:
        if large:
            chosen = other
    return p.word(chosen)


def another_computation(p, state):
    size, pair = p.size(state.source), p.pair(state.source)
    chosen = pair[0] + 0
    with when(size, 1) as large:
        if large:
            chosen = pair[0] + 1
    return p.word(chosen)


def a_plain_branch(p, state):
    found, size = False, p.size(state.source)
    with when(size, 1) as large:
        if large:
            found = True
    pair = p.pair(state.source)
    if found:
        with when(pair[0], 1) as odd:
            if odd:
                return p.word(pair[1])
    return p.word(pair[0])


def an_exception(p, state):
    pair = p.pair(state.source)
    try:
        chosen = lift((0,).__getitem__, pair[0])
    except IndexError:
        chosen = 1
    return p.word(pair[1], chosen)


def the_type_of_a_value(p, state):
    pair = p.pair(state.source)
    one = lift(lambda bit: "odd" if bit else 0, pair[0])
    return p.word(pair[1], 1 if isinstance(one, str) else 0)


@pytest.mark.parametrize(
    ("say", "says"),
    [
        (a_constant, "is given more=1 at {place}, and more=0 on input 0"),
        (a_constant_in_an_expression, "is given 'given' at {place} computed otherwise than on input 0"),
        (a_constant_in_a_closure, "is given 'given' at {place} computed otherwise than on input 0"),
        (one_of_two_values_of_a_quantum, "is given 'given' at {place} computed otherwise than on input 0"),
        (another_computation, "is given 'given' at {place} computed otherwise than on input 0"),
        (a_plain_branch, "continues with a guard at {place}, but with WORD on input 0"),
    ],
)
def test_a_choice_that_outlives_its_guard_is_refused(say, says):
    with pytest.raises(v.EscapedChoice) as caught:
        Program().compile(say)
    assert "on input 5: " in str(caught.value)
    assert re.search(re.escape(says).replace(r"\{place\}", r"\S*test_choices\.py:\d+"), str(caught.value))
    assert "; use a value chosen under a guard only inside its" in str(caught.value)


@pytest.mark.parametrize("say", [an_exception, the_type_of_a_value])
def test_a_branch_by_exception_or_type_is_refused(say):
    with pytest.raises(v.EscapedChoice, match="quantum WORD, on input 1: is given"):
        Program().compile(say)


def test_the_line_is_that_of_the_call():
    with pytest.raises(v.EscapedChoice) as caught:
        Program().compile(a_constant)
    line = a_constant.__code__.co_firstlineno + 6
    assert f"test_choices.py:{line}, and" in str(caught.value)


def test_a_choice_that_the_audit_did_not_show_is_refused_when_it_is_traced():
    def say(p, state):
        chosen, size, pair = 0, p.size(state.source), p.pair(state.source)
        with when(pair, (1, True)) as rare:
            if rare:
                chosen = 1
        return p.word(pair[0] + size, chosen)

    compiled = Program().compile(say, audit=[0, 2, 3, 4, 6, 8, 9])
    with pytest.raises(v.EscapedChoice, match=r"quantum WORD, on input 7: is given more=1 at .*, and more=0"):
        compiled.trace([2, 7])


def test_a_choice_is_explained_by_an_open_guard_of_the_same_value():
    def say(p, state):
        chosen, size, pair = 0, p.size(state.source), p.pair(state.source)
        with when(size, 1) as large:
            if large:
                chosen = 1
        for case in (0, 1):
            with when(size, case) as here:
                if here:
                    return p.word(pair[0], chosen)
        return None

    compiled = Program().compile(say)
    assert list(compiled.trace([4, 14]).written()) == [("low", "."), ("high", ".")]


def test_a_block_that_ends_without_a_return_is_no_choice():
    def say(p, state):
        size, pair = p.size(state.source), p.pair(state.source)
        with when(size, 1) as large:
            if large:
                with when(pair[0], 1) as odd:
                    if odd:
                        return p.large_and_odd()
        return p.word(pair[0])

    program = Program()
    program.large_and_odd = program.registry.quantum("LARGE_AND_ODD", output_cardinality=1)(lambda: "high")
    with pytest.raises(v.Unconnected, match="quantum SIZE, on input 0"):  # and not EscapedChoice
        program.compile(say)


def test_values_made_anew_for_every_event_are_equal_recipes():
    class Option:
        pass

    def say(p, state):
        pair = p.pair(state.source)
        table = {0: "zero", 1: ["one"]}
        shift = lift(lambda bit, options, table: bit + len(table) - 2, pair[0], [Option()], table)
        return p.word(shift + lift({0: 0, 1: 0}.get, pair[1]))

    program = Program()
    program.registry._quanta = [q for q in program.registry.quanta if q.name != "SIZE"]
    for index, quantum in enumerate(program.registry.quanta):
        object.__setattr__(quantum, "index", index)
    assert program.compile(say).graph.names == ("STAGE", "PAIR", "WORD", "STOP")


def test_a_guard_may_compare_several_values_and_with_a_value():
    def say(p, state):
        size, pair = p.size(state.source), p.pair(state.source)
        with when(size, pair[0]) as equal:
            if equal:
                return p.equal()
        with when((size, pair[0]), (0, 1)) as differ:
            if differ:
                return p.word(pair[1])
        with when((size, pair[0]), (1, 0)) as differ:
            if differ:
                return p.word(pair[1])
        return None

    program = Program()
    program.equal = program.registry.quantum("EQUAL", output_cardinality=1)(lambda: "high")
    graph = program.compile(say).graph
    parents = {name: [graph.names[p] for p in graph.parents(q)] for q, name in enumerate(graph.names)}
    assert parents["EQUAL"] == parents["WORD"] == ["SIZE", "PAIR"]
