"""Runs the audit domain on traced values: every input, token by token, until the end token."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from quantascope.program.answers import Answers
from quantascope.program.passes.emission import emission
from quantascope.program.passes.validate import Declaration
from quantascope.program.recipes import Recipes
from quantascope.program.state import State
from quantascope.program.time_limit import Watch
from quantascope.program.tracer import Execution, ExecutionPath, Shape, Tracer
from quantascope.program.violations import no_end


class Activation(NamedTuple):
    """The quanta that ran in an event, each with its signature, and the emitter."""

    shape: Shape
    emitter: int


class Event(NamedTuple):
    """One prediction of the audit domain."""

    state: State
    activation: Activation
    values: tuple[Any, ...]
    token: str


@dataclass(frozen=True)
class Observations:
    """What was observed: events, the smallest states that show each path and output, and all answers."""

    names: tuple[str, ...]
    events: tuple[Event, ...]
    by_activation: Mapping[Activation, list[Event]]
    execution_paths: Mapping[ExecutionPath, State]
    outcomes: tuple[Mapping[Any, State], ...]
    answers: Answers

    @property
    def activations(self) -> dict[Activation, State]:
        """Every activation with the smallest state that shows it."""
        return {activation: events[0].state for activation, events in self.by_activation.items()}


def execute(declaration: Declaration, recipes: Recipes, watch: Watch) -> Observations:
    """Run the program on its audit domain and return what was observed."""
    events: list[Event] = []
    by_activation: dict[Activation, list[Event]] = {}
    paths: dict[ExecutionPath, State] = {}
    outcomes: list[dict[Any, State]] = [{} for _ in declaration.names]
    tracer = Tracer(declaration.program, recipes)
    for execution, emitter, token in _executions(declaration, tracer, watch):
        paths.setdefault(execution.path, execution.state)
        activation = Activation(execution.shape, emitter)
        alike = by_activation.setdefault(activation, [])
        known = alike[0].activation if alike else activation
        events.append(Event(execution.state, known, execution.values, token))
        alike.append(events[-1])
        for (quantum, _), value in zip(activation.shape, execution.values, strict=True):
            outcomes[quantum].setdefault(value, execution.state)
    return Observations(declaration.names, tuple(events), by_activation, paths, tuple(outcomes), tracer.answers)


def _executions(declaration: Declaration, tracer: Tracer, watch: Watch) -> Iterator[tuple[Execution, int, str]]:
    program = declaration.program
    for source in declaration.inputs:
        state, token = State(source), None
        while token != program.end:
            if state.position == program.longest:
                raise no_end(state, program.end)
            watch.at(state)
            execution = tracer.run(state)
            emitter, token = emission(program, execution)
            yield execution, emitter, token
            state = state.then(token)
