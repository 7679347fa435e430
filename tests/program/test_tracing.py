"""Values carry their producers through ordinary Python; the compiled trace equals the plain program."""

import operator
from dataclasses import dataclass, field

import numpy as np
import pytest

from quantascope.program import ProgramError, Registry, State, compile_program, lift, when
from quantascope.program.execution_cache import ExecutionCache
from quantascope.program.recipes import Recipes
from quantascope.program.tracer import Tracer
from quantascope.program.violations import MixedOutputs
from quantascope.quanta.graph import EdgeKind


@dataclass(frozen=True)
class Box:
    first: object
    second: object = 0


def parents_of_last(compute):
    """The data parents of a quantum that is given `compute(a, b, c)`, where A, B, C are quanta."""
    registry = Registry()
    quanta = [registry.quantum(name, output_cardinality=9)(lambda n, i=i: n + i) for i, name in enumerate("ABC")]
    last = registry.quantum("LAST", output_cardinality=99)(lambda *given: ".")
    seen = []

    def predict(state):
        values = [quantum(state.source) for quantum in quanta]
        given = compute(*values)
        seen.append(given)
        return last(given)

    program = registry.entry(audit=[5], vocabulary=["."], end=".")(predict)
    execution = Tracer(program, Recipes()).run(State(5))
    (data,) = execution.shape[-1][1].data
    return {name for index, name in enumerate("ABC") if data >> index & 1}, seen[-1]


@pytest.mark.parametrize(
    ("compute", "parents", "value"),
    [
        (lambda a, b, c: a + b * 2 - 1, "AB", 16),
        (lambda a, b, c: 100 - c, "C", 93),
        (lambda a, b, c: divmod(b, 4)[0], "B", 1),
        (lambda a, b, c: a == b, "AB", False),
        (lambda a, b, c: abs(-a) % 3, "A", 2),
        (lambda a, b, c: 2**a // 3 | (b & 1) ^ 1, "AB", 2**5 // 3 | (6 & 1) ^ 1),
        (lambda a, b, c: lift(max, a, c), "AC", 7),
        (lambda a, b, c: lift(("x", "y", "z").__getitem__, b - 4), "B", "z"),
        (lambda a, b, c: lift(str, a).zfill(3), "A", "005"),
        (lambda a, b, c: lift(str, a) + "!", "A", "5!"),
        (lambda a, b, c: lift(tuple, (a, b))[0], "AB", 5),
        (lambda a, b, c: lift(Box, a, b).second, "AB", 6),
        (lambda a, b, c: c.real, "C", 7),
    ],
)
def test_producers_pass_through_expressions(compute, parents, value):
    found, result = parents_of_last(compute)
    assert found == set(parents)
    assert result.traced_value == value


@pytest.mark.parametrize(
    ("compute", "parents"),
    [
        (lambda a, b, c: (a, (b, 1)), "AB"),
        (lambda a, b, c: [a, 3, c], "AC"),
        (lambda a, b, c: {"x": b}, "B"),
        (lambda a, b, c: Box(a, Box(c)), "AC"),
        (lambda a, b, c: (1, 2), ""),
    ],
)
def test_producers_pass_through_containers(compute, parents):
    assert parents_of_last(compute)[0] == set(parents)


def test_a_tuple_can_be_unpacked_and_a_function_called():
    def swap(pair):
        first, second = pair
        return second, first

    found, (second, first) = parents_of_last(lambda a, b, c: swap(lift(tuple, [a, b])))
    assert found == {"A", "B"}
    assert (second.traced_value, first.traced_value) == (6, 5)


def test_a_quantum_sees_plain_values_and_may_be_called_by_keyword():
    seen = []
    registry = Registry()
    pair = registry.quantum("PAIR", output_cardinality=9)(lambda number: (number, Box(number)))

    @registry.quantum("WORD", output_cardinality=1)
    def word(left, box, more=0):
        seen.append((type(left), type(box), type(box.first), more))
        return "."

    def predict(state):
        number, box = pair(state.source)
        return word(box=box, left=number + 0)

    tracer = Tracer(registry.entry(audit=[1], vocabulary=["."], end=".")(predict), Recipes())
    assert tracer.run(State(4)).shape[1][1].data == (1, 1, 0)
    assert seen == [(int, Box, int, 0)]


def test_outside_the_compiler_a_program_is_plain_python():
    registry = Registry()
    double = registry.quantum("DOUBLE", output_cardinality=99)(lambda number: 2 * number)
    assert double(4) + 1 == 9
    assert double(number=4) == 8
    with when(double(4), 8) as active:
        assert active
    with when(double(4), 9) as active:
        assert not active
    assert lift(operator.add, 1, 2) == 3


def counting(audit=range(20), limit=4):
    """Writes "a" as often as half of the input says, then "." if the input is even and "!" if not, then ends."""
    registry = Registry()
    count = registry.quantum("COUNT", output_cardinality=11)(lambda number: min(number // 2, limit))
    phase = registry.quantum("PHASE", output_cardinality=3)(
        lambda written, count: "a" if len(written) < count else "mark" if len(written) == count else "end"
    )
    parity = registry.quantum("PARITY", output_cardinality=2)(lambda number: number % 2)
    letter = registry.quantum("LETTER", output_cardinality=1)(lambda phase: "a")
    mark = registry.quantum("MARK", output_cardinality=2)(lambda parity: ".!"[parity])
    stop = registry.quantum("STOP", output_cardinality=1)(lambda: "end")

    @registry.entry(audit=audit, vocabulary=["a", ".", "!", "end"], end="end")
    def predict(state):
        now = phase(state.written, count(state.source))
        with when(now, "a") as writing:
            if writing:
                return letter(now)
        with when(now, "mark") as marking:
            if marking:
                return mark(parity(state.source))
        with when(now, "end") as ending:
            if ending:
                return stop()
        return None

    return predict


def test_kinds_of_edges_tell_data_from_control():
    graph = compile_program(counting()).graph
    kinds = {(graph.names[e.parent], graph.names[e.child]): e.kind for e in graph.edges}
    assert kinds == {
        ("COUNT", "PHASE"): EdgeKind.DATA,
        ("PHASE", "PARITY"): EdgeKind.CONTROL,
        ("PHASE", "LETTER"): EdgeKind.DATA | EdgeKind.CONTROL,
        ("PARITY", "MARK"): EdgeKind.DATA,
        ("PHASE", "STOP"): EdgeKind.CONTROL,
    }
    assert [graph.names[q] for q in graph.emitters] == ["LETTER", "MARK", "STOP"]


def test_a_trace_says_what_ran_what_could_and_what_was_found():
    compiled = compile_program(counting())
    trace = compiled.trace([3, 0])
    assert list(trace.written()) == [("a", "!", "end"), (".", "end")]
    assert trace.example.tolist() == [0, 0, 0, 1, 1]
    assert trace.position.tolist() == [0, 1, 2, 0, 1]
    labels, column = trace.labels, {name: q for q, name in enumerate(trace.graph.names)}
    assert labels.active[:, column["PARITY"]].tolist() == [False, True, False, True, False]
    assert labels.eligible[:, column["PARITY"]].all()
    assert labels.eligible[:, column["MARK"]].tolist() == [False, True, False, True, False]
    found = [trace.outcomes[column["COUNT"]][code] for code in labels.outcome[:, column["COUNT"]]]
    assert found == [1, 1, 1, 0, 0]
    assert [trace.graph.names[q] for q in labels.emitter] == ["LETTER", "MARK", "STOP", "MARK", "STOP"]


def test_outcomes_keep_their_numbers_in_every_trace():
    compiled = compile_program(counting(limit=9, audit=range(8)))
    first, second = compiled.trace([19, 17]), compiled.trace([3])
    for ours, theirs, audited in zip(first.outcomes, second.outcomes, compiled.outcomes, strict=True):
        assert ours[: len(audited)] == theirs[: len(audited)] == audited


def test_every_quantum_has_a_witness_that_can_be_repeated():
    program = counting()
    for quantum, effect in enumerate(compile_program(program).effects):
        assert program(effect.state) == effect.token
        if effect.becomes is None:
            assert program.registry.quanta[quantum].name in ("LETTER", "MARK", "STOP")
        else:
            assert effect.becomes != effect.token


def test_the_execution_cache_equals_executions_in_full():
    program = counting()
    compiled = compile_program(program)
    paths, outcomes = compiled.execution_paths, compiled.outcomes
    cache = ExecutionCache(program, compiled.graph, compiled.signatures, paths, outcomes)
    tracer = Tracer(program, Recipes())
    for source in [*range(30), *range(30)]:
        state = State(source)
        while state.written[-1:] != ("end",):
            execution, row = tracer.run(state), cache.rows[cache.row(state)]
            codes = [
                cache.codes[q][value] for (q, _), value in zip(execution.shape, execution.values, strict=True)
            ]
            assert [row.outcome[q] for q, _ in execution.shape] == codes
            assert sum(code >= 0 for code in row.outcome) == len(codes)
            assert row.token == execution.result.traced_value
            state = state.then(row.token)
    assert len(cache.rows) == 19  # counts 0 to 4, of which 5 · 2 marks, 4 with letters, 5 ends


@dataclass(frozen=True)
class Word:
    kind: str
    text: str = field(compare=False)


@pytest.mark.parametrize(
    ("lex", "text"),
    [
        (lambda text: Word("number" if text.isdigit() else "name", text), lambda found: found.text),
        (lambda text: (Word("number" if text.isdigit() else "name", text),), lambda found: found[0].text),
        (lambda text: {"1": 1, "2": True, "x": 7}[text], str),
        (lambda text: {"1": (1, 0), "2": (1.0, 0), "x": ()}[text], lambda found: str(found)),
    ],
)
def test_outputs_outside_the_audit_that_only_equal_known_ones_are_refused(lex, text):
    """A trace that took the kept output for the new one would write the tokens of another input."""
    registry = Registry()
    lexed = registry.quantum("LEX", output_cardinality=9)(lex)
    write = registry.quantum("WRITE", output_cardinality=99)(lambda found, n: "." if n else text(found))
    tokens = [text(lex(one)) for one in "12x"]

    @registry.entry(audit=["1", "x"], vocabulary=[*tokens, "."], end=".")
    def predict(state):
        return write(lexed(state.source), state.position)

    compiled = compile_program(predict)
    assert list(compiled.trace(["x", "1"]).written()) == [(tokens[2], "."), (tokens[0], ".")]
    with pytest.raises(MixedOutputs, match=r"on input '2': returns .* on another input, which are equal but not"):
        compiled.trace(["1", "x", "2"])


def test_input_read_between_quanta_is_read_anew_for_every_event():
    registry = Registry()
    pick = registry.quantum("PICK", output_cardinality=10)(lambda digit, shift: digit and (digit + shift) % 10)
    word = registry.quantum("WORD", output_cardinality=10)(lambda digit: "zabcdefghi"[digit])
    stop = registry.quantum("STOP", output_cardinality=1)(lambda: "z")

    @registry.entry(audit=[(n, k) for n in range(100) for k in (0, 1)], vocabulary=[*"zabcdefghi"], end="z")
    def predict(state):
        number, shift = state.source
        digit = pick(number // 10**state.position % 10, shift * 1)
        with when(digit, 0) as zero:
            if zero:
                return stop()
        with when(digit != 0, True) as writing:
            if writing:
                return word(digit)
        return None

    compiled = compile_program(predict)
    sources = [(n, k) for n in range(500, 700) for k in (0, 2)]
    assert list(compiled.trace(sources).written()) == [predict.write(source) for source in sources]
    assert len(compiled.trace(sources).tokens) <= 10


def test_plain_and_compiled_programs_agree_on_a_large_domain(rng):
    program = counting()
    sources = rng.integers(0, 1000, 500).tolist()
    assert list(compile_program(program).trace(sources).written()) == [program.write(s) for s in sources]


def test_a_trace_of_distinct_rows_is_small():
    trace = compile_program(counting()).trace(range(10_000))
    assert len(trace) == np.sum([min(n // 2, 4) + 2 for n in range(10_000)])
    assert len(trace.tokens) == 19


def test_every_complaint_about_a_program_has_one_base():
    registry = Registry()
    with pytest.raises(ProgramError):
        compile_program(registry.entry(audit=[1], vocabulary=["."], end=".")(lambda state: "."))


@pytest.mark.parametrize(
    ("function", "call", "data"),
    [
        (lambda *, x, y=0: x, lambda q, a, b: q(x=a), (1, 0)),
        (lambda *, x, y=0: x, lambda q, a, b: q(y=b, x=a), (1, 2)),
        (lambda x, y=0: x, lambda q, a, b: q(a), (1, 0)),
        (lambda x, y=0: x, lambda q, a, b: q(y=a, x=b), (2, 1)),
        (lambda x, *more: x, lambda q, a, b: q(0, a, b), (0, 3)),
        (lambda x, **named: x, lambda q, a, b: q(0, one=a, two=b), (0, 3)),
        (lambda x, /, *more, y, **named: x, lambda q, a, b: q(a, y=b), (1, 0, 2, 0)),
        (max, lambda q, a, b: q(a, 0, b), (1, 0, 2)),
    ],
)
def test_every_way_to_pass_an_argument_keeps_its_trail(function, call, data):
    registry = Registry()
    first, second = (registry.quantum(name, output_cardinality=9)(lambda n: n) for name in "AB")
    last = registry.quantum("LAST", output_cardinality=99)(function)

    def predict(state):
        return call(last, first(state.source), second(state.source))

    execution = Tracer(registry.entry(audit=[5], vocabulary=["."], end=".")(predict), Recipes()).run(State(5))
    assert execution.shape[-1][1].data == data
    with_plain_values = call(function, 5, 5)
    assert execution.values[-1] == with_plain_values
