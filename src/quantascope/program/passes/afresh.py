"""In a process that has not run the program, each quantum alone and then whole events must repeat their outputs.

Each quantum is called on its own, on copies of its recorded arguments, the last quanta and events first, so that
no state left by another quantum or an earlier event is present. Then some events run in full, in reverse. Neither
may read the clock, the environment or the process, change a file, or read one that the program has changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from quantascope.program.ambient import Ambient
from quantascope.program.answers import Answer
from quantascope.program.drawn import drawn
from quantascope.program.passes.execute import Observations
from quantascope.program.plain_run import PlainRun
from quantascope.program.recipes import Recipes
from quantascope.program.registry import Program, Quantum
from quantascope.program.state import State, shown
from quantascope.program.tracer import raised
from quantascope.program.violations import AmbientInput, HiddenInput, NotDeterministic, ProgramError, uncheckable

ANSWERS, EVENTS = 200, 400
"""Number of answers of each quantum that are computed again, and number of events that are run again."""

T = TypeVar("T", bound="Answer | Ran")
At = Callable[[State], None]
"""Called with the state that is about to run."""


class Asked(NamedTuple):
    """A quantum and some of its answers."""

    quantum: int
    answers: tuple[Answer, ...]


class Ran(NamedTuple):
    """An event: the quanta that ran, their outputs, and the token."""

    state: State
    quanta: tuple[int, ...]
    values: tuple[Any, ...]
    token: str


@dataclass(frozen=True)
class Sample:
    """The calls and events to repeat, drawn from all of the audit domain; quanta that run last come first."""

    asked: tuple[Asked, ...]
    events: tuple[Ran, ...]

    @classmethod
    def of(cls, observed: Observations, can_send: Callable[[Any], bool]) -> "Sample":
        """A sample of calls and events that can be sent to another process; raises if no call of a quantum can."""
        events = [
            Ran(event.state, tuple(quantum for quantum, _ in event.activation.shape), event.values, event.token)
            for event in drawn(observed.events, EVENTS)
        ]
        order = dict.fromkeys(quantum for one in observed.activations for quantum, _ in one.shape)
        asked = [Asked(quantum, tuple(drawn(observed.answers.of(quantum), ANSWERS)[::-1])) for quantum in order]
        sample = cls(tuple(reversed(asked)), tuple(reversed(events))).where(can_send)
        for quantum, answers in sample.asked:
            if not answers:
                first = observed.answers.of(quantum)[0]
                given = ", ".join(map(shown, first.arguments))
                what = f"arguments that cannot be sent to another process, such as {given}"
                raise uncheckable(what, observed.names[quantum], first.state)
        return sample

    def where(self, holds: Callable[[Any], bool]) -> "Sample":
        """The part of the sample for which the predicate holds."""
        asked = (Asked(quantum, tuple(_where(holds, answers))) for quantum, answers in self.asked)
        return Sample(tuple(asked), tuple(_where(holds, self.events)))


def _where(holds: Callable[[Any], bool], items: Iterable[T]) -> list[T]:
    items = list(items)
    return items if holds(items) else [one for one in items if holds(one)]


def check_afresh(program: Program, sample: Sample, at: At, since: int) -> None:
    """Repeat everything in a sample and compare the outputs; the program first ran at `since`, in nanoseconds."""
    recipes = Recipes()
    for index, answers in sample.asked:
        quantum = program.registry.quanta[index]
        _raise_last(_other_answer(quantum, answer, recipes, since) for answer in _each(answers, at))
    _raise_last(_other_event(program, event, recipes, since) for event in _each(sample.events, at))


def _each(items: Iterable[T], at: At) -> Iterator[T]:
    for one in items:
        at(one.state)
        yield one


def _raise_last(complaints: Iterable[ProgramError | None]) -> None:
    """The last error found is about the smallest input."""
    found = [complaint for complaint in complaints if complaint is not None]
    if found:
        raise found[-1]


def _other_answer(quantum: Quantum, answer: Answer, recipes: Recipes, since: int) -> ProgramError | None:
    with Ambient(since) as ambient:
        try:
            value, error = quantum.parameters.body(*answer.arguments), None
        except BaseException as caught:
            value, error = None, caught
    if ambient.found is not None:
        return _ambient(ambient.found, answer.state, quantum.name)
    if error is None and recipes.of(value) == recipes.of(answer.value):
        return None
    given = ", ".join(map(shown, answer.arguments))
    alone = shown(value) if error is None else raised(error, answer.state, quantum.name).what
    return HiddenInput(
        f"finds {shown(answer.value)} for ({given}) in the program and, called alone in another process, "
        + (f"finds {alone}" if error is None else alone),
        "make it depend only on its arguments: no memory, no global state, no set order, no string hash",
        quantum=quantum.name,
        state=answer.state,
    )


def _other_event(program: Program, event: Ran, recipes: Recipes, since: int) -> ProgramError | None:
    with Ambient(since) as ambient:
        again = PlainRun(program, event.state)
    if ambient.found is not None:
        return _ambient(ambient.found, event.state)
    if again.failure is not None:
        return again.failure
    before = [*zip(event.quanta, event.values, strict=True), (-1, event.token)]
    after = [*zip(again.calls, again.values, strict=True), (-1, again.result)]
    for one, other in zip(before, after, strict=False):
        if one[0] != other[0] or recipes.of(one[1]) != recipes.of(other[1]):
            names = program.registry.names
            return NotDeterministic(
                f"{_found(names, *one)} in one process, and {_found(names, *other)} in another",
                "remove state shared between events, and anything that differs between processes",
                state=event.state,
            )
    return None


def _ambient(found: tuple[str, str], state: State, quantum: str | None = None) -> AmbientInput:
    what, place = found
    remedy = "let it depend on its arguments alone, and return all that others need"
    return AmbientInput(f"{what} at {place}", remedy, quantum=quantum, state=state)


def _found(names: tuple[str, ...], quantum: int, value: Any) -> str:
    return f"{names[quantum]} finds {shown(value)}" if quantum >= 0 else f"the token is {shown(value)}"
