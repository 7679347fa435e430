"""Run the audit domain on traced values: every input, token by token, to its end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from quantascope.program.passes.emission import emission
from quantascope.program.passes.validate import Declaration
from quantascope.program.recipes import Recipes
from quantascope.program.state import State
from quantascope.program.time_limit import Watch
from quantascope.program.tracer import Course, Execution, Shape, Tracer
from quantascope.program.violations import no_end


class Path(NamedTuple):
    """What an event did, without its values, and the quantum that wrote."""

    shape: Shape
    emitter: int


class Event(NamedTuple):
    """One prediction of the audit domain."""

    state: State
    path: Path
    values: tuple[Any, ...]
    token: str


@dataclass(frozen=True)
class Observations:
    """Every event in order; those of each path; the smallest states that show a course, or a quantum's output."""

    names: tuple[str, ...]
    events: tuple[Event, ...]
    by_path: Mapping[Path, list[Event]]
    courses: Mapping[Course, State]
    outcomes: tuple[Mapping[Any, State], ...]

    @property
    def paths(self) -> dict[Path, State]:
        """Every path with the smallest state on which it was taken."""
        return {path: events[0].state for path, events in self.by_path.items()}


def execute(declaration: Declaration, recipes: Recipes, watch: Watch) -> Observations:
    """What the program does on its audit domain."""
    events: list[Event] = []
    by_path: dict[Path, list[Event]] = {}
    courses: dict[Course, State] = {}
    outcomes: list[dict[Any, State]] = [{} for _ in declaration.names]
    for execution, emitter, token in _executions(declaration, recipes, watch):
        courses.setdefault(execution.course, execution.state)
        path = Path(execution.shape, emitter)
        alike = by_path.setdefault(path, [])
        events.append(Event(execution.state, alike[0].path if alike else path, execution.values, token))
        alike.append(events[-1])
        for (quantum, _), value in zip(path.shape, execution.values, strict=True):
            outcomes[quantum].setdefault(value, execution.state)
    return Observations(declaration.names, tuple(events), by_path, courses, tuple(outcomes))


def _executions(declaration: Declaration, recipes: Recipes, watch: Watch) -> Iterator[tuple[Execution, int, str]]:
    program, tracer = declaration.program, Tracer(declaration.program, recipes)
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
