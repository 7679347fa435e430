"""What users write between quanta works, or is refused with advice that fits."""

import json
import math
from collections import Counter, OrderedDict, defaultdict

import pytest
from hidden_dependencies import Sketch

from quantascope.program import Registry, compile_program, lift
from quantascope.program import violations as v


def compiled(say, *, pair=lambda number: (number % 2, number % 3)):
    """The program that gives RESULT what `say(pair, triple)` makes of two traced tuples."""
    s = Sketch(
        CAUSE=None, HALF=None, WORD=None, PAIR=pair, TRIPLE=lambda number: (number % 2, number % 3, 1),
        RESULT=lambda given: f"0{int(given) % 6}",
    )  # fmt: skip
    return compile_program(s.program(lambda state: s.result(say(s.pair(state.source), s.triple(state.source)))))


def total(parts):
    found = 0
    for part in parts:
        found = found + part
    return found


def swapped(first, second):
    return second - first


@pytest.mark.parametrize(
    "say",
    [
        lambda pair, triple: swapped(*pair) + sum(triple),
        lambda pair, triple: list(pair)[1] + tuple(triple)[1],
        lambda pair, triple: total(pair) + total(triple),
        lambda pair, triple: [*pair, *triple][3] + pair[1],
        lambda pair, triple: len(pair) + pair[0] + triple[1],
        lambda pair, triple: dict(zip("ab", pair, strict=True))["b"] + triple[0],
        lambda pair, triple: lift(sorted, (*pair, *triple), reverse=True)[0] + lift(max, pair, key=abs),
        lambda pair, triple: lift(int, "11", base=2 + pair[0]) + lift(round, triple[1] / 2, ndigits=0),
    ],
)
def test_tuples_are_taken_apart_and_functions_take_keywords(say):
    graph = compiled(say).graph
    assert {graph.names[parent] for parent in graph.parents(graph.names.index("RESULT"))} == {"PAIR", "TRIPLE"}


@pytest.mark.parametrize(
    ("make", "look"),
    [
        (lambda a: defaultdict(lambda: 7, {"a": a}), lambda table: table["none"] + table["a"]),
        (lambda a: OrderedDict(b=1, a=a), lambda table: [*reversed(table)].index("b") + table["a"]),
        (lambda a: Counter({"a": a}), lambda table: table["none"] + table["a"]),
    ],
)
def test_dictionaries_keep_their_kind(make, look):
    s = Sketch(CAUSE=None, HALF=None, WORD=None, DIGIT=lambda n: n % 3, RESULT=lambda t: f"0{look(t) % 6}")
    program = s.program(lambda state: s.result(make(s.digit(state.source))))
    graph = compile_program(program).graph
    assert [graph.names[parent] for parent in graph.parents(graph.names.index("RESULT"))] == ["DIGIT"]


@pytest.mark.parametrize(
    ("say", "says"),
    [
        (lambda pair, triple: sorted(pair)[0], "or lift(sorted, values) and lift(max, a, b)"),
        (lambda pair, triple: max(pair), "or lift(sorted, values) and lift(max, a, b)"),
        (lambda pair, triple: json.dumps(pair[0]), "write lift(function, value) for a function that"),
        (lambda pair, triple: json.dumps({"a": pair}), "write lift(function, value) for a function that needs"),
        (lambda pair, triple: chr(pair[0]), "lift(f, value) for a function f that needs it"),
        (lambda pair, triple: [0 for _ in range(pair[0])], "a loop over range(value) belongs inside a quantum"),
        (lambda pair, triple: math.sqrt(pair[0]), "write lift(f, value) for a function f that needs one"),
    ],
)
def test_advice_fits_what_was_written(say, says):
    with pytest.raises(v.ProgramError) as caught:
        compiled(say)
    assert says in str(caught.value)


def test_tuples_of_one_recipe_have_one_length():
    with pytest.raises(v.EscapedValue, match=r"on input 1: .* at .*:\d+ has 2 parts, but 1 on input 0;"):
        compiled(lambda pair, triple: total(pair) + sum(triple), pair=lambda number: (1,) * (1 + number % 2))


@pytest.mark.parametrize("outputs", [(1, True), (1, 1.0), (0.0, False), ((1,), (True,)), (0.0, -0.0)])
def test_equal_outputs_of_several_types_are_refused_by_name(outputs):
    registry = Registry()
    mixed = registry.quantum("MIXED", output_cardinality=9)(lambda number: outputs[number % 2])
    word = registry.quantum("WORD", output_cardinality=9)(lambda value, number: f"{value}" if number < 2 else ".")
    tokens = {*map(str, outputs), "."}
    entry = registry.entry(audit=[0, 1], vocabulary=sorted(tokens), end=".")
    program = entry(lambda state: word(mixed(state.source), state.source + 2 * state.position))
    with pytest.raises(v.MixedOutputs, match=r"quantum MIXED, on input 1.*, which are equal but not identical"):
        compile_program(program)


def test_an_attribute_of_a_value_is_its_own():
    """No name that the tracer uses hides it."""

    class Pair(tuple):
        _value, _recipe = "own", property(len)

    s = Sketch(
        CAUSE=None, HALF=None, WORD=None, PAIR=lambda n: Pair((1,) * (n % 3)), RESULT=lambda a, b: f"0{len(a) + b}"
    )  # fmt: skip

    def say(state):
        pair = s.pair(state.source)
        return s.result(pair._value, pair._recipe)

    assert list(compile_program(s.program(say)).trace([2]).written()) == [("05", ".")]
