"""Executes one input on a compiled program, token by token, and records quantum values and guards."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, no_type_check

from quantascope.program.frozen import CompiledProgram
from quantascope.program.passes.emission import emission
from quantascope.program.plain_run import PlainRun
from quantascope.program.recipes import Recipes
from quantascope.program.registry import Program
from quantascope.program.state import State, shown
from quantascope.program.time_limit import Watch, run_program
from quantascope.program.tracer import GUARD, Tracer
from quantascope.program.violations import no_end


@dataclass(frozen=True)
class GuardOutcome:
    """A guard that was reached: the quanta its value depends on, the value, the case, and whether it holds."""

    on: tuple[str, ...]
    value: str
    case: str
    holds: bool


@dataclass(frozen=True)
class ExecutedEvent:
    """One token: the values of the quanta that ran, by name, and the guards in the order in which they opened."""

    token: str
    emitter: str
    values: dict[str, str]
    guards: tuple[GuardOutcome, ...]


def execute_input(compiled: CompiledProgram, source: Any) -> tuple[ExecutedEvent, ...]:
    """Run a program on one input until it ends, in a separate process."""
    program = compiled.program
    return run_program(program, [source], lambda watch: _executed(program, source, watch), quiet=True)


def _executed(program: Program, source: Any, watch: Watch) -> tuple[ExecutedEvent, ...]:
    tracer, state, done = Tracer(program, Recipes()), State(source), list[ExecutedEvent]()
    names = program.registry.names
    while not done or done[-1].token != program.end:
        if state.position == program.longest:
            raise no_end(state, program.end)
        watch.at(state)
        execution = tracer.run(state)
        emitter, token = emission(program, execution)
        ran = zip(execution.shape, execution.values, strict=True)
        producers = [bits for action, _, bits in execution.path if action == GUARD]
        guards = _GuardedRun(program, state).guards
        done.append(
            ExecutedEvent(
                token=token,
                emitter=names[emitter],
                values={names[quantum]: _told(value) for (quantum, _), value in ran},
                guards=tuple(
                    GuardOutcome(_names(names, bits), _told(value), _told(case), holds)
                    for bits, (value, case, holds) in zip(producers, guards, strict=True)
                ),
            )
        )
        state = state.then(token)
    return tuple(done)


@no_type_check
class _GuardedRun(PlainRun):
    """A run on plain values that records its guards."""

    def __init__(self, program: Program, state: State) -> None:
        self.guards: list[tuple[Any, Any, bool]] = []
        super().__init__(program, state)

    def enter(self, guard: Any, value: Any, case: Any) -> bool:
        """Record the value and the case, and return whether the case holds."""
        holds = super().enter(guard, value, case)
        self.guards.append((value, case, holds))
        return holds


def _names(names: Sequence[str], producers: int) -> tuple[str, ...]:
    return tuple(name for index, name in enumerate(names) if producers >> index & 1)


def _told(value: Any) -> str:
    return value.name if isinstance(value, Enum) else shown(value)
