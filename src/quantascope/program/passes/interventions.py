"""After an output is replaced, only what depends on it may change.

On a sample of events each quantum's output is replaced by others that it has elsewhere, and the plain program runs
on. A quantum outside its descendants must return the same again. It may stop running, or start, only by a guard that
it comes after. Otherwise a dependency was hidden from the traced run.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from quantascope.program.passes.execute import Event, Observations
from quantascope.program.passes.validate import Declaration
from quantascope.program.plain_run import PlainRun, Replacement
from quantascope.program.recipes import Recipes
from quantascope.program.state import shown
from quantascope.program.time_limit import Watch
from quantascope.program.violations import HiddenDependency
from quantascope.quanta.graph import QGraph

EVENTS, OUTPUTS = 100, 3
"""How many events are tried for each quantum, and other outputs on each."""


class Descent(NamedTuple):
    """The quanta on which each one depends, as bits: by edges, and by edges and the guards that it comes after."""

    by_edges: tuple[int, ...]
    by_guards_too: tuple[int, ...]


def check_interventions(
    declaration: Declaration, observed: Observations, graph: QGraph, passed: tuple[int, ...], watch: Watch
) -> None:
    """Replace outputs of every quantum, and compare all others with the event as it was."""
    descent, recipes = _descent(graph, passed), Recipes()
    for quantum in range(len(declaration.names)):
        for event, replaced in _trials(observed, quantum):
            watch.at(event.state)
            run = PlainRun(declaration.program, event.state, Replacement(quantum, replaced))
            changed = _changed(event, run, recipes)
            for other, found, became in changed:
                among = descent.by_guards_too if became is _ABSENT or found is _ABSENT else descent.by_edges
                if other != quantum and not among[other] >> quantum & 1:
                    raise _complaint(declaration.names, event, Replacement(quantum, replaced), other, found, became)


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


def _descent(graph: QGraph, passed: tuple[int, ...]) -> Descent:
    quanta = range(len(graph.names))
    parents = [sum(1 << parent for parent in graph.parents(quantum)) for quantum in quanta]
    return Descent(_closed(parents), _closed([parents[quantum] | passed[quantum] for quantum in quanta]))


def _closed(parents: list[int]) -> tuple[int, ...]:
    """Ancestors from parents, as bits."""
    ancestors = list(parents)
    for middle in range(len(ancestors)):
        for quantum, bits in enumerate(ancestors):
            if bits >> middle & 1:
                ancestors[quantum] |= ancestors[middle]
    return tuple(ancestors)


def _trials(observed: Observations, quantum: int) -> Iterator[tuple[Event, Any]]:
    """Events in which a quantum runs, some of every activation, each with outputs that it has elsewhere."""
    alike = [events for one, events in observed.by_activation.items() if quantum in dict(one.shape)]
    outputs = list(observed.outcomes[quantum])
    for turn, event in enumerate(_spread(alike, EVENTS)):
        own = event.values[[index for index, _ in event.activation.shape].index(quantum)]
        others = (outputs[(turn + step) % len(outputs)] for step in range(len(outputs)))
        yield from ((event, other) for other in islice((one for one in others if one != own), OUTPUTS))


def _spread(groups: list[list[Event]], count: int) -> Iterator[Event]:
    """About so many events, as many of each group, evenly over it."""
    each = max(2, count // len(groups))
    for events in groups:
        yield from events[:: -(-len(events) // each)]


def _changed(event: Event, run: PlainRun, recipes: Recipes) -> Iterable[tuple[int, Any, Any]]:
    """The quanta whose output or activity differs, with what they found and what it became."""
    before = {index: value for (index, _), value in zip(event.activation.shape, event.values, strict=True)}
    after = dict(zip(run.calls, run.values, strict=True))
    for quantum in {**before, **after}:
        found, became = before.get(quantum, _ABSENT), after.get(quantum, _ABSENT)
        if run.failure is not None and became is _ABSENT:
            continue  # it may have come later
        if found is not became and found != became and recipes.of(found) != recipes.of(became):
            yield quantum, found, became


def _complaint(
    names: tuple[str, ...], event: Event, replacement: Replacement, other: int, found: Any, became: Any
) -> HiddenDependency:
    cause = names[replacement.quantum]
    return HiddenDependency(
        f"finds {shown(became)} instead of {shown(found)} when {cause} finds {shown(replacement.value)}, although no "
        f"value and no open guard leads from {cause} to it",
        f"pass it a value of {cause}, or call it under a guard on one; use no memory between quanta",
        quantum=names[other],
        state=event.state,
    )
