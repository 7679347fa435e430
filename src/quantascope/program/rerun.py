"""`Rerun`: runs a program on plain values and notes what its quanta return; one output may be replaced."""

from typing import Any, NamedTuple, NoReturn, no_type_check

from quantascope.program.registry import CURRENT, Program, Quantum
from quantascope.program.state import State
from quantascope.program.tracer import raised
from quantascope.program.violations import ProgramError


class Replacement(NamedTuple):
    """An output that is put in the place of a quantum's own."""

    quantum: int
    value: Any


@no_type_check
class Rerun:
    """The quanta that ran, in order, with their outputs, and what the program returned."""

    def __init__(self, program: Program, state: State, replace: Replacement | None = None) -> None:
        self._replace = replace
        self._failed: str | None = None
        self.calls: list[int] = []
        self.values: list[Any] = []
        before = CURRENT.set(self)
        try:
            self.result = program.entry(state)
        except ProgramError as error:
            raise error.on(state) from None
        except BaseException as error:
            raise raised(error, state, self._failed) from error
        finally:
            CURRENT.reset(before)

    def call(self, quantum: Quantum, values: tuple[Any, ...]) -> Any:
        """Note and perhaps replace an output."""
        try:
            value = quantum.parameters.body(*values)
        except BaseException:
            self._failed = quantum.name
            raise
        if self._replace is not None and self._replace.quantum == quantum.index:
            value = self._replace.value
        self.calls.append(quantum.index)
        self.values.append(value)
        return value

    def enter(self, value: Any, case: Any) -> bool:
        """A guard is a comparison."""
        return bool(value == case)

    def leave(self) -> None:
        """Nothing hangs on a guard here."""

    def refuse(self, complaint: ProgramError) -> NoReturn:
        """Raise a complaint; the traced run has remembered it."""
        raise complaint
