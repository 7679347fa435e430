"""`PlainRun`: runs a program on plain values and records what its quanta return; one output may be replaced."""

from typing import Any, NamedTuple, NoReturn, no_type_check

from quantascope.program.registry import CURRENT, Program, Quantum
from quantascope.program.state import State
from quantascope.program.tracer import raised
from quantascope.program.violations import ProgramError


class Replacement(NamedTuple):
    """An output that replaces a quantum's own output."""

    quantum: int
    value: Any


@no_type_check
class PlainRun:
    """The quanta that ran, in order, with their outputs, and what the program returned or raised."""

    def __init__(self, program: Program, state: State, replace: Replacement | None = None) -> None:
        self._replace = replace
        self._raised: tuple[Quantum, BaseException] | None = None
        self.calls: list[int] = []
        self.values: list[Any] = []
        self.result: Any = None
        self.failure: ProgramError | None = None
        self.failed: int | None = None
        """The quantum whose exception is the failure."""
        before = CURRENT.set(self)
        try:
            self.result = program.entry(state)
        except ProgramError as error:
            self.failure = error.on(state)
        except BaseException as error:
            quantum = self._raised[0] if self._raised is not None and self._raised[1] is error else None
            self.failure = raised(error, state, quantum.name if quantum else None)
            self.failed = quantum.index if quantum else None
        finally:
            CURRENT.reset(before)

    def call(self, quantum: Quantum, values: tuple[Any, ...]) -> Any:
        """Record an output, or its replacement."""
        try:
            value = quantum.parameters.body(*values)
        except BaseException as error:
            self._raised = quantum, error
            raise
        if self._replace is not None and self._replace.quantum == quantum.index:
            value = self._replace.value
        self.calls.append(quantum.index)
        self.values.append(value)
        return value

    def enter(self, guard: Any, value: Any, case: Any) -> bool:
        """Evaluate a guard: a plain comparison."""
        return bool(value == case)

    def leave(self, guard: Any) -> None:
        """Does nothing: plain runs do not track guards."""

    def refuse(self, complaint: ProgramError) -> NoReturn:
        """Raise the error; the traced run has already recorded it."""
        raise complaint
