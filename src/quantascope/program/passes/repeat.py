"""Runs the audit domain again, on plain values and in reverse order; the outcome must be the same.

A difference comes either from randomness or memory in the program, or from a branch on something that tracing
changes, such as `value is CASE` or `type(value)`. Further runs of both kinds tell which.
"""

from itertools import zip_longest

from quantascope.program.answers import equals_only_itself
from quantascope.program.passes.execute import Event, Observations
from quantascope.program.passes.validate import Declaration
from quantascope.program.plain_run import PlainRun
from quantascope.program.recipes import Recipes
from quantascope.program.state import shown
from quantascope.program.time_limit import Watch
from quantascope.program.tracer import Tracer
from quantascope.program.violations import EscapedValue, NotDeterministic, ProgramError, uncountable

_RUNS = 8


def repeat(declaration: Declaration, observed: Observations, watch: Watch) -> None:
    """Compare both runs of every event; raises for the smallest event that differs."""
    differing: tuple[Event, PlainRun] | None = None
    for event in reversed(observed.events):
        watch.at(event.state)
        again = PlainRun(declaration.program, event.state)
        if again.failure is not None:
            raise again.failure
        calls = [index for index, _ in event.activation.shape]
        if again.calls != calls or tuple(again.values) != event.values or again.result != event.token:
            differing = event, again
    if differing is not None:
        raise _difference(declaration, *differing)


def _difference(declaration: Declaration, event: Event, again: PlainRun) -> ProgramError:
    names, nothing = declaration.names, (None, None)
    first = [(index, value) for (index, _), value in zip(event.activation.shape, event.values, strict=True)]
    second = list(zip(again.calls, again.values, strict=True))
    pairs = zip_longest(first, second, fillvalue=nothing)
    (one, value), (other, anew) = next((pair for pair in pairs if pair[0] != pair[1]), (nothing, nothing))
    escaped = _differs_by_tracing(declaration, event, again)
    if one is not None and one == other:
        if equals_only_itself(value) and equals_only_itself(anew):
            return uncountable(value, names[one], event.state)
        if escaped:
            return EscapedValue(
                f"gets other arguments in a traced run, where it returns {shown(value)}, than in a plain run, "
                f"where it returns {shown(anew)}",
                "decide with `when`, never with `is`, type() or try",
                quantum=names[one],
                state=event.state,
            )
        return NotDeterministic(
            f"returns {shown(value)} in one run and {shown(anew)} in another",
            "remove randomness and memory from it and from its arguments",
            quantum=names[one],
            state=event.state,
        )
    here, there = (names[index] if index is not None else "nothing" for index in (one, other))
    if escaped:
        return EscapedValue(
            f"runs {here} in a traced run, but {there} in a plain run",
            "branch with `when`, never with `is`, type() or try",
            state=event.state,
        )
    return NotDeterministic(
        f"runs {here} in one run, but {there} in another",
        "remove randomness and state shared between quanta",
        state=event.state,
    )


def _differs_by_tracing(declaration: Declaration, event: Event, again: PlainRun) -> bool:
    """Whether runs of the same kind agree, so that the difference is not random."""
    for _ in range(_RUNS):
        traced = Tracer(declaration.program, Recipes()).run(event.state)
        plain = PlainRun(declaration.program, event.state)
        if traced.shape != event.activation.shape or traced.values != event.values:
            return False
        if (plain.calls, plain.values) != (again.calls, again.values):
            return False
    return True
