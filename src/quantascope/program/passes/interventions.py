"""Checks by intervention that replacing an output changes only its descendants.

On a sample of events, each quantum's output is replaced by outputs it has on other events, and the plain program
continues. A quantum that is not a descendant must return the same value, and may start or stop running only
through a guard that it comes after. An exception of a quantum counts as an output. Otherwise the traced run missed
a dependency.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from quantascope.program.drawn import SEED, drawn
from quantascope.program.passes.execute import Event, Observations
from quantascope.program.passes.validate import Declaration
from quantascope.program.plain_run import PlainRun, Replacement
from quantascope.program.recipes import Recipes
from quantascope.program.state import shown
from quantascope.program.time_limit import Watch
from quantascope.program.violations import HiddenDependency
from quantascope.quanta.graph import QGraph

EVENTS, OUTPUTS = 100, 3
"""Number of events tried for each quantum, and number of replacement outputs on each."""


def check_interventions(
    declaration: Declaration, observed: Observations, graph: QGraph, passed: tuple[int, ...], watch: Watch
) -> None:
    """Replace outputs of every quantum, and compare all other quanta with the original event."""
    descent, recipes = _descent(graph, passed), Recipes()
    for quantum in range(len(declaration.names)):
        for event, replaced in _trials(observed, quantum):
            watch.at_intervention(event.state)
            replacement = Replacement(quantum, replaced)
            run = PlainRun(declaration.program, event.state, replacement)
            for change in _changes(event, run, recipes):
                if change.quantum != quantum and not descent.explains(change, quantum):
                    raise _complaint(declaration.names, event, replacement, change)


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


class _Raised(NamedTuple):
    """What a quantum raised in place of an output."""

    what: str


class Change(NamedTuple):
    """The output of a quantum before and after an intervention; one of the two may be absent."""

    quantum: int
    before: Any
    after: Any


class Descent(NamedTuple):
    """The ancestors of each quantum as bits: through edges, and through edges and guards that it comes after."""

    by_edges: tuple[int, ...]
    by_guards_too: tuple[int, ...]

    def explains(self, change: Change, cause: int) -> bool:
        """Whether a quantum may change in this way when its cause changes."""
        is_activity = change.before is _ABSENT or change.after is _ABSENT
        ancestors = self.by_guards_too if is_activity else self.by_edges
        return bool(ancestors[change.quantum] >> cause & 1)


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
    """Events in which a quantum runs, some of every activation, each with outputs it has on other events."""
    alike = [events for one, events in observed.by_activation.items() if quantum in dict(one.shape)]
    outputs, draw = list(observed.outcomes[quantum]), Random(SEED)
    for event in _some_of_each(alike, EVENTS):
        own = event.values[[index for index, _ in event.activation.shape].index(quantum)]
        chosen = draw.sample(range(len(outputs)), min(OUTPUTS + 1, len(outputs)))
        others = (outputs[place] for place in sorted(chosen))
        yield from ((event, other) for other in islice((one for one in others if one != own), OUTPUTS))


def _some_of_each(groups: list[list[Event]], count: int) -> Iterator[Event]:
    """About `count` events, equally many from each group, drawn from all parts of the group."""
    each = max(2, count // len(groups))
    for events in groups:
        yield from drawn(events, each)


def _changes(event: Event, run: PlainRun, recipes: Recipes) -> Iterator[Change]:
    """The quanta whose output or activity differs."""
    before = {index: value for (index, _), value in zip(event.activation.shape, event.values, strict=True)}
    after = dict(zip(run.calls, run.values, strict=True))
    if run.failed is not None and run.failure is not None:
        after[run.failed] = _Raised(run.failure.what)
    for quantum in {**before, **after}:
        change = Change(quantum, before.get(quantum, _ABSENT), after.get(quantum, _ABSENT))
        if run.failure is not None and change.after is _ABSENT:
            continue  # it may have come later
        if change.before is not change.after and recipes.of(change.before) != recipes.of(change.after):
            yield change


def _complaint(names: tuple[str, ...], event: Event, replacement: Replacement, change: Change) -> HiddenDependency:
    cause = names[replacement.quantum]
    after = change.after.what if isinstance(change.after, _Raised) else f"finds {shown(change.after)}"
    return HiddenDependency(
        f"{after} instead of {shown(change.before)} when {cause} finds "
        f"{shown(replacement.value)}, although no value and no open guard leads from {cause} to it",
        f"pass it a value of {cause}, or call it under a guard on one; use no memory between quanta",
        quantum=names[change.quantum],
        state=event.state,
    )
