"""Programs in which a true dependency CAUSE -> RESULT is hidden from the compiler, one function each.

Every program writes one token from what HALF finds of CAUSE and what RESULT finds, then a full stop. RESULT is given
the input and something that CAUSE decides in a way that no traced value and no open guard shows. Each must be refused,
or compile to a graph that has CAUSE among the ancestors of RESULT.
"""

import itertools
import operator
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from types import SimpleNamespace

import numpy as np

from quantascope.program import Program, Registry, lift, when

TOKENS = tuple(f"{half}{result}" for half in range(2) for result in range(6))


class Sketch:
    """A registry with STAGE, CAUSE, HALF, WORD and STOP; a case declares RESULT and says how it is called."""

    def __init__(self, cause: Callable[[int], object] = lambda number: number % 2) -> None:
        self.registry = Registry()
        self.stage = self.quantum("STAGE", lambda position: min(position, 1))
        self.cause = self.quantum("CAUSE", cause)
        self.half = self.quantum("HALF", lambda cause: int(cause == 1))
        self.word = self.quantum("WORD", lambda half, result: f"{half}{result % 6}")
        self.stop = self.quantum("STOP", lambda stage: ".")

    def quantum(self, name, body):
        return self.registry.quantum(name, output_cardinality=99)(body)

    def program(self, say, audit=range(12)) -> Program:
        """The program that says a word by `say(state)`, then stops."""

        def predict(state):
            now = self.stage(state.position)
            with when(now, 1) as over:
                if over:
                    return self.stop(now)
            with when(now, 0) as begins:
                if begins:
                    return say(state)
            return None

        return self.registry.entry(audit=audit, vocabulary=(*TOKENS, "."), end=".")(predict)


def chosen(one, other, use, body=None):
    """One of two things is chosen under a guard on CAUSE and used after it: `use(chosen, input)` goes to RESULT."""
    s = Sketch()
    result = s.quantum("RESULT", body or (lambda number, given: (number // 2 + int(given)) % 3))

    def say(state):
        cause = s.cause(state.source)
        it = one
        with when(cause, 1) as active:
            if active:
                it = other
        return s.word(s.half(cause), result(state.source, use(it, state.source)))

    return s.program(say)


def lifted(one, other, argument=0):
    return chosen(one, other, lambda function, number: lift(function, number * 0 + argument))


class Shift:
    def __init__(self, by: int) -> None:
        self.by = by

    def shifted(self, number: int) -> int:
        return number + self.by


@dataclass(eq=False)
class Option:
    by: int


def a_method_of_str():
    return chosen(str.upper, str.lower, lambda f, n: lift(f, lift("aBC".__getitem__, n % 3)), _is_upper)


def _is_upper(number, given):
    return (number // 2 + given.isupper()) % 3


def an_itemgetter():
    pick = lambda f, n: lift(f, (n * 0, n * 0 + 1))  # noqa: E731
    return chosen(operator.itemgetter(0), operator.itemgetter(1), pick)


def two_cached_functions():
    return lifted(lru_cache(lambda n: n), lru_cache(lambda n: n + 1))


def two_ufuncs():
    return lifted(np.positive, np.negative, 1)


def methods_of_plain_objects():
    return lifted(Shift(0).shifted, Shift(1).shifted)


def closures_over_functions():
    def made(by):
        def inner(n, shift=by):
            return n + shift

        return lambda n: inner(n)

    return lifted(made(0), made(1))


def keyword_only_defaults():
    def made(by):
        def shifted(n, *, shift=by):
            return n + shift

        return shifted

    return lifted(made(0), made(1))


def attributes_of_functions():
    def made(by):
        def shifted(n, function=[]):  # noqa: B006
            return n + function[0].by

        shifted.by = by
        return partial(shifted, function=[shifted])

    return lifted(made(0), made(1))


def membership_of_a_set():
    return lifted({0, 2}.__contains__, {1, 2}.__contains__)


def a_set():
    return chosen({0}, {1}, _itself, lambda n, given: (n // 2 + min(given)) % 3)


def a_deque():
    return chosen(deque([0]), deque([1]), _itself, _first)


def an_array():
    return chosen(np.array([0, 5]), np.array([1, 5]), _itself, lambda n, given: int(n // 2 + given[0]) % 3)


def a_bytearray():
    return chosen(bytearray([0]), bytearray([1]), _itself, _first)


def a_namespace():
    return chosen(SimpleNamespace(by=0), SimpleNamespace(by=1), _itself, _by)


def a_plain_object():
    return chosen(Shift(0), Shift(1), _itself, _by)


def a_dataclass_without_equality():
    return chosen(Option(0), Option(1), _itself, _by)


def an_iterator():
    return chosen((0,), (1,), lambda it, n: iter(it), lambda n, given: (n // 2 + next(given)) % 3)


def _itself(it, number):
    return it


def _first(number, given):
    return (number // 2 + given[0]) % 3


def _by(number, given):
    return (number // 2 + given.by) % 3


def effect(act, body, kept=set):
    """A lifted function writes what CAUSE finds into something plain that RESULT is given."""
    s = Sketch()
    result = s.quantum("RESULT", body)

    def say(state):
        seen, cause = kept(), s.cause(state.source)
        act(seen, cause, state)
        return s.word(s.half(cause), result(state.source, seen))

    return s.program(say)


def lift_that_adds_to_a_set():
    return effect(lambda seen, cause, state: lift(seen.add, cause), lambda n, seen: (n // 2 + max(seen)) % 3)


def lift_that_sets_an_attribute():
    return effect(lambda seen, cause, state: lift(setattr, seen, "by", cause), _by, SimpleNamespace)


def lift_that_keeps_the_input():
    s, word = Sketch(), lambda number, n: (n // 2 + number % 2) % 3
    count = s.quantum("RESULT", lambda seen: sum(seen) % 3)
    named = s.quantum("NAMED", word)

    def say(state):
        seen, cause = set(), s.cause(state.source)
        lift(seen.update, (state.source,))
        return s.word(s.half(cause), named(count(seen), state.source))

    return s.program(say)


def lift_that_writes_a_global():
    kept = {}
    return effect(
        lambda seen, cause, state: lift(lambda value: kept.update(by=value), cause),
        lambda n, seen: (n // 2 + kept["by"]) % 3,
    )


def repr_in_a_set():
    return effect(
        lambda seen, cause, state: seen.add("1" in repr(cause).split("(")[-1].split()[0]),
        lambda n, seen: (n // 2 + max(seen)) % 3,
    )


def the_inside_of_a_value():
    return effect(
        lambda seen, cause, state: seen.add(getattr(cause, "_value", cause)),
        lambda n, seen: (n // 2 + max(seen)) % 3,
    )


def argument(make, push, pop):
    """CAUSE changes what it is given, and RESULT is given the same."""
    s = Sketch()
    cause = s.quantum("PUSH", lambda number, kept: push(kept, number % 2) or number % 2)
    s.registry._quanta.remove(s.cause)
    object.__setattr__(cause, "name", "CAUSE")
    for index, quantum in enumerate(s.registry.quanta):
        object.__setattr__(quantum, "index", index)
    result = s.quantum("RESULT", lambda number, kept: (number // 2 + pop(kept)) % 3)

    def say(state):
        kept = make()
        found = cause(state.source, kept)
        return s.word(s.half(found), result(state.source, kept))

    return s.program(say)


class Stack:
    def __init__(self) -> None:
        self.held = []


def a_deque_that_a_quantum_changes():
    return argument(deque, lambda kept, value: kept.append(value), lambda kept: kept[-1])


def a_stack_that_a_quantum_changes():
    return argument(Stack, lambda kept, value: kept.held.append(value), lambda kept: kept.held[-1])


def memory(store, read, audit=range(12)):
    """CAUSE stores in something global, and RESULT reads it."""
    s = Sketch(lambda number: store(number) or number % 2)
    result = s.quantum("RESULT", lambda number: (number // 2 + read(number)) % 3)

    def say(state):
        cause = s.cause(state.source)
        return s.word(s.half(cause), result(state.source))

    return s.program(say, audit)


def a_global():
    kept = {}
    return memory(lambda number: kept.update(by=number % 2), lambda number: kept["by"])


def a_global_by_input():
    kept = {}
    return memory(lambda number: kept.update({number: number % 2}), lambda number: kept[number])


def a_cache():
    kept = {}

    @cache
    def parity(number):
        return kept.setdefault(number, number % 2)

    return memory(lambda number: parity(number) and None, lambda number: kept.get(number, 5))


def a_plan_for_the_next_token():
    kept, registry = {}, Registry()
    quantum = lambda name, body: registry.quantum(name, output_cardinality=99)(body)  # noqa: E731
    stage = quantum("STAGE", lambda position: min(position, 2))
    plan = quantum("CAUSE", lambda number: kept.update(by=number % 2) or number % 2)
    first = quantum("FIRST", lambda plan: f"{plan}0")
    later = quantum("RESULT", lambda number: (number // 2 + kept["by"]) % 3)
    second = quantum("SECOND", lambda later: f"0{later}")
    stop = quantum("STOP", lambda stage: ".")

    def predict(state):
        now = stage(state.position)
        with when(now, 0) as begins:
            if begins:
                return first(plan(state.source))
        with when(now, 1) as goes_on:
            if goes_on:
                return second(later(state.source))
        with when(now, 2) as over:
            if over:
                return stop(now)
        return None

    return registry.entry(audit=range(12), vocabulary=(*TOKENS, "."), end=".")(predict)


def numbers_by_first_come():
    numbers = {}
    return memory(
        lambda number: numbers.setdefault(number % 3, len(numbers)) and None,
        lambda number: numbers.setdefault(number % 3, len(numbers)),
    )


def early(is_one, cause=lambda number: "one" if number % 2 else 0):
    """The entry returns early where `is_one(cause)`, without a guard, and RESULT does not run."""
    s = Sketch(cause)
    s.registry._quanta = [quantum for quantum in s.registry.quanta if quantum.name != "HALF"]
    first = s.quantum("FIRST", lambda cause, number: f"0{number % 6}" if cause else "10")
    result = s.quantum("RESULT", lambda token, number: f"1{number % 6}" if token == "10" else token)
    s.registry._quanta.remove(s.word)
    for index, quantum in enumerate(s.registry.quanta):
        object.__setattr__(quantum, "index", index)

    def say(state):
        cause = s.cause(state.source)
        token = first(cause * 0 if False else lift(bool, cause), state.source)
        if is_one(cause):
            return token
        return result(token, state.source)

    return s.program(say)


def early_return_by_isinstance():
    return early(lambda cause: isinstance(cause, str))


def early_return_by_hasattr():
    return early(lambda cause: hasattr(cause, "upper"))


def early_return_by_exception():
    def is_one(cause):
        try:
            return lift(lambda value: 0 / (value == 0), cause) is None
        except ZeroDivisionError:
            return True

    return early(is_one)


def early_return_by_repr():
    return early(lambda cause: "one" in repr(cause))


def a_guard_closed_by_hand():
    """The guard on CAUSE closes before RESULT runs in its block, by the exit of an outer guard."""
    s = Sketch()
    result = s.quantum("RESULT", lambda number: number // 2 % 3)
    other = s.quantum("OTHER", lambda number: 3 + number // 2 % 3)
    light = s.quantum("LIGHT", lambda number: 1)

    def say(state):
        cause, on = s.cause(state.source), light(state.source)
        outer, inner = when(on, 1), when(cause, 1)
        outer.__enter__()
        inner.__enter__()
        found = None
        if inner:
            outer.__exit__(None, None, None)
            inner_is_open = True
            found = result(state.source)
        else:
            inner_is_open = False
            outer.__exit__(None, None, None)
            found = other(state.source)
        inner.__exit__(None, None, None)
        assert inner_is_open in (True, False)
        return s.word(s.half(cause), found)

    return s.program(say)


def a_guard_never_closed():
    s = Sketch()
    result = s.quantum("RESULT", lambda number: number // 2 % 3)
    late = s.quantum("LATE", lambda number: number % 2)

    def say(state):
        guard = when(s.cause(state.source), 0)
        with guard as even:
            kept = bool(even)
            guard.__exit__(None, None, None)
            if kept:
                found = result(state.source)
                return s.word(s.half(late(state.source)), found)
            guard.__enter__()
        return s.stop(0)

    return s.program(say)


HIDDEN = {
    function.__name__.replace("_", " "): function
    for function in (
        a_method_of_str,
        an_itemgetter,
        two_cached_functions,
        two_ufuncs,
        methods_of_plain_objects,
        closures_over_functions,
        keyword_only_defaults,
        attributes_of_functions,
        membership_of_a_set,
        a_set,
        a_deque,
        an_array,
        a_bytearray,
        a_namespace,
        a_plain_object,
        a_dataclass_without_equality,
        an_iterator,
        lift_that_adds_to_a_set,
        lift_that_sets_an_attribute,
        lift_that_keeps_the_input,
        lift_that_writes_a_global,
        repr_in_a_set,
        the_inside_of_a_value,
        a_deque_that_a_quantum_changes,
        a_stack_that_a_quantum_changes,
        a_global,
        a_global_by_input,
        a_cache,
        a_plan_for_the_next_token,
        numbers_by_first_come,
        early_return_by_isinstance,
        early_return_by_hasattr,
        early_return_by_exception,
        early_return_by_repr,
        a_guard_closed_by_hand,
        a_guard_never_closed,
    )
}
"""The cases by name."""

_ = itertools
