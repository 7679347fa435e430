"""Programs in which a true dependency CAUSE -> RESULT is hidden from the compiler, one function each.

Most programs write one token from what HALF finds of CAUSE and what RESULT finds, then a full stop. RESULT is
given the input and something that CAUSE decides in a way that no traced value and no open guard shows.
"""

import mmap
import operator
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from types import MappingProxyType, SimpleNamespace

import numpy as np

from quantascope.program import Program, Registry, lift, when

TOKENS = tuple(f"{half}{result}" for half in range(2) for result in range(6))


BODIES = {
    "STAGE": lambda position: min(position, 1),
    "CAUSE": lambda number: number % 2,
    "HALF": lambda cause: int(cause == 1),
    "WORD": lambda half, result: f"{half}{result % 6}",
    "STOP": lambda stage: ".",
}


class Sketch:
    """Quanta by name: those above, and others or None in their place."""

    def __init__(self, **bodies: Callable[..., object] | None) -> None:
        self.registry = Registry()
        self._quanta = {
            name: self.registry.quantum(name, output_cardinality=99)(body)
            for name, body in {**BODIES, **bodies}.items()
            if body is not None
        }

    def __getattr__(self, name):
        return self._quanta[name.upper()]

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
    """One of two things is chosen under a guard on CAUSE; after it, RESULT is given `use(chosen, input)`."""
    s = Sketch(RESULT=body or (lambda number, given: (number // 2 + int(given)) % 3))

    def say(state):
        cause = s.cause(state.source)
        it = one
        with when(cause, 1) as active:
            if active:
                it = other
        return s.word(s.half(cause), s.result(state.source, use(it, state.source)))

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
    s = Sketch(RESULT=body)

    def say(state):
        seen, cause = kept(), s.cause(state.source)
        act(seen, cause, state)
        return s.word(s.half(cause), s.result(state.source, seen))

    return s.program(say)


def lift_that_adds_to_a_set():
    return effect(lambda seen, cause, state: lift(seen.add, cause), lambda n, seen: (n // 2 + max(seen)) % 3)


def lift_that_sets_an_attribute():
    return effect(lambda seen, cause, state: lift(setattr, seen, "by", cause), _by, SimpleNamespace)


def lift_that_keeps_the_input():
    """The worst case: RESULT seems to depend on nothing, so that traces remembered its first answer."""
    s = Sketch(RESULT=lambda seen: sum(seen) % 3)

    def say(state):
        seen, cause = set(), s.cause(state.source)
        lift(seen.update, (state.source,))
        return s.word(s.half(cause), s.result(seen))

    return s.program(say)


def lift_that_changes_a_large_table():
    large = [0] * 5000
    return effect(lambda seen, cause, state: lift(seen.__setitem__, 7, cause), _seventh, lambda: large)


def _seventh(number, given):
    return (number // 2 + given[7]) % 3


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
    s = Sketch(
        CAUSE=lambda number, kept: push(kept, number % 2) or number % 2,
        RESULT=lambda number, kept: (number // 2 + pop(kept)) % 3,
    )

    def say(state):
        kept = make()
        found = s.cause(state.source, kept)
        return s.word(s.half(found), s.result(state.source, kept))

    return s.program(say)


class Stack:
    def __init__(self) -> None:
        self.held = []


def a_deque_that_a_quantum_changes():
    return argument(deque, lambda kept, value: kept.append(value), lambda kept: kept[-1])


def a_stack_that_a_quantum_changes():
    return argument(Stack, lambda kept, value: kept.held.append(value), lambda kept: kept.held[-1])


def a_memory_map():
    return shared(
        mmap.mmap(-1, 16),
        lambda kept, number: kept.__setitem__(number, number % 2),
        lambda kept, number: kept[number],
    )


def a_thread_local():
    return shared(
        threading.local(), lambda here, number: setattr(here, "by", number % 2), lambda here, number: here.by
    )


def a_thread_local_inside_an_object():
    return shared(
        {"log": SimpleNamespace(kept=[threading.local()])},
        lambda given, number: setattr(given["log"].kept[0], "by", number % 2),
        lambda given, number: given["log"].kept[0].by,
    )


def shared(thing, store, read):
    """CAUSE and RESULT are given one thing whose content cannot be read; CAUSE stores in it by input."""
    s = Sketch(
        CAUSE=lambda number, thing: store(thing, number) or number % 2,
        RESULT=lambda number, thing: (number // 2 + read(thing, number)) % 3,
    )

    def say(state):
        found = s.cause(state.source, thing)
        return s.word(s.half(found), s.result(state.source, thing))

    return s.program(say)


def a_view_of_a_dictionary():
    kept = {}
    view = MappingProxyType(kept)
    s = Sketch(
        CAUSE=lambda number: kept.update({number: number % 2}) or number % 2,
        RESULT=lambda number, view: (number // 2 + view[number]) % 3,
    )

    def say(state):
        cause = s.cause(state.source)
        return s.word(s.half(cause), s.result(state.source, view))

    return s.program(say)


def memory(store, read, audit=range(12), number_of=lambda source: source):
    """CAUSE stores in something global, and RESULT reads it."""
    s = Sketch(
        CAUSE=lambda source: store(source) or number_of(source) % 2,
        RESULT=lambda source: (number_of(source) // 2 + read(source)) % 3,
    )

    def say(state):
        cause = s.cause(state.source)
        return s.word(s.half(cause), s.result(state.source))

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


def plan(store, read):
    """CAUSE stores at the first token what RESULT reads at the second."""
    s = Sketch(
        STAGE=lambda position: min(position, 2),
        CAUSE=lambda number: store(number) or number % 2,
        HALF=None,
        WORD=None,
        FIRST=lambda plan: f"{plan}0",
        RESULT=lambda number: (number // 2 + read(number)) % 3,
        SECOND=lambda later: f"0{later}",
    )

    def predict(state):
        now = s.stage(state.position)
        with when(now, 0) as begins:
            if begins:
                return s.first(s.cause(state.source))
        with when(now, 1) as goes_on:
            if goes_on:
                return s.second(s.result(state.source))
        with when(now, 2) as over:
            if over:
                return s.stop(now)
        return None

    return s.registry.entry(audit=range(12), vocabulary=(*TOKENS, "."), end=".")(predict)


@dataclass(frozen=True)
class Request:
    """An input that cannot be pickled."""

    number: int
    same: Callable[[int], int]


def a_global_and_inputs(make, number_of):
    """Inputs that cannot be sent to another process as they are."""
    kept = {}
    return memory(
        lambda source: kept.update(by=number_of(source) % 2),
        lambda source: kept["by"],
        [make(number) for number in range(12)],
        number_of,
    )


def a_global_and_matches():
    return a_global_and_inputs(lambda number: re.fullmatch(r"\d+", f"{number}"), lambda match: int(match[0]))


def a_global_and_tuples_of_matches():
    return a_global_and_inputs(lambda number: (re.match(r"\d+", f"{number}"),), lambda pair: int(pair[0][0]))


def a_global_and_functions():
    return a_global_and_inputs(lambda number: lambda: number, lambda function: function())


def a_global_and_inputs_that_hold_functions():
    return a_global_and_inputs(
        lambda number: Request(number, lambda value: value), lambda request: request.same(request.number)
    )


def a_plan_for_the_next_token():
    kept = {}
    return plan(lambda number: kept.update(by=number % 2), lambda number: kept["by"])


def a_plan_by_input():
    kept = {}
    return plan(lambda number: kept.update({number: number % 2}), lambda number: kept[number])


NOTE = {}


def remember(value):
    NOTE["by"] = value
    return value


def recall(number):
    return number // 2, NOTE["by"]


def a_table_without_what_never_occurs():
    """RESULT raises when an intervention gives it a combination that no input has."""
    audit = [0, 3, 4, 7, 8, 11]
    table = {(number // 2, number % 2): (number // 2 + number % 2) % 3 for number in audit}
    s = Sketch(
        STAGE=lambda position: position,
        HALF=None,
        FIRST=lambda cause: f"{cause}0",
        RESULT=lambda key: table[key],
        STOP=lambda stage: ".",
    )

    def predict(state):
        now = s.stage(state.position)
        with when(now, 2) as over:
            if over:
                return s.stop(now)
        cause = lift(remember, s.cause(state.source))
        with when(now, 0) as begins:
            if begins:
                return s.first(cause)
        with when(now, 1) as goes_on:
            if goes_on:
                return s.word(cause, s.result(lift(recall, state.source)))
        return None

    return s.registry.entry(audit=audit, vocabulary=(*TOKENS, "."), end=".")(predict)


def numbers_by_first_come():
    numbers = {}
    return memory(
        lambda number: numbers.setdefault(number % 3, len(numbers)) and None,
        lambda number: numbers.setdefault(number % 3, len(numbers)),
    )


def early(is_one):
    """The entry returns early where `is_one(cause)`, without a guard, and RESULT does not run."""
    s = Sketch(
        CAUSE=lambda number: "one" if number % 2 else 0,
        HALF=None,
        BASE=lambda number: number // 2 % 3,
        FIRST=lambda cause, base: f"{int(cause == 'one')}{base}",
        RESULT=lambda base: base + 3,
        WORD=lambda first, result: f"{first[0]}{(int(first[1]) + result) % 6}",
    )

    def say(state):
        cause, base = s.cause(state.source), s.base(state.source)
        first = s.first(cause, base)
        if is_one(cause):
            return first
        return s.word(first, s.result(base))

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


def guards_that_cross():
    def is_one(cause):
        outer, inner = when(cause, cause), when(cause, "one")
        outer.__enter__()
        inner.__enter__()
        found = bool(inner)
        outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        return found

    return early(is_one)


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
        lift_that_changes_a_large_table,
        lift_that_writes_a_global,
        repr_in_a_set,
        the_inside_of_a_value,
        a_deque_that_a_quantum_changes,
        a_stack_that_a_quantum_changes,
        a_memory_map,
        a_thread_local,
        a_thread_local_inside_an_object,
        a_view_of_a_dictionary,
        a_global,
        a_global_by_input,
        a_cache,
        a_global_and_matches,
        a_global_and_tuples_of_matches,
        a_global_and_functions,
        a_global_and_inputs_that_hold_functions,
        a_plan_for_the_next_token,
        a_plan_by_input,
        a_table_without_what_never_occurs,
        numbers_by_first_come,
        early_return_by_isinstance,
        early_return_by_hasattr,
        early_return_by_exception,
        early_return_by_repr,
        guards_that_cross,
    )
}
"""The cases by name."""
