"""Runs a program in a child process and reports the input and line on which it hangs or crashes."""

import gc
import inspect
from collections.abc import Callable, Iterable, Mapping
from re import Match
from types import FunctionType
from typing import TypeVar, no_type_check

from quantascope.program.place import is_in_program, place_of
from quantascope.program.registry import Program, Quantum
from quantascope.program.state import State
from quantascope.program.violations import NeverEnds, ProgramCrashed, ProgramError, ProgramRaised
from quantascope.runs.errors import QuantascopeError, described
from quantascope.runs.isolation import Ended, Frame, Progress, TimedOut, can_be_sent, run_isolated, time_limit
from quantascope.runs.isolation.run import TIME_LIMIT

T = TypeVar("T")


@no_type_check
class Watch:
    """Tells the parent process which state is being run; the time limit applies to each state."""

    def __init__(self, progress: Progress, shared: Mapping[int, object]) -> None:
        self._at, self.next_pass, self._shared = progress.at, progress.again, shared

    def can_send(self, value: object) -> bool:
        """Whether a value can be sent to the parent; inputs, and functions that it has, always can."""
        return can_be_sent(value, self._shared)

    def at(self, state: State) -> None:
        """Report that a state starts to run; the parent identifies its input by address."""
        self._at(id(state.source), len(state.written))

    def at_intervention(self, state: State) -> None:
        """Report that a state runs with a replaced output, which is encoded as a negative number of tokens."""
        self._at(id(state.source), -1 - len(state.written))


def run_program(
    program: Program, inputs: Iterable[object], work: Callable[[Watch], T], *, quiet: bool = False
) -> T:
    """Run `work`, which runs a program on these inputs, in a separate process and return its result.

    With `quiet`, the program's output is not shown.
    """
    sources = {id(source): source for source in inputs}
    shared = {id(one): one for one in (program, *_kept_by_a_fork(), *sources.values())}

    def guarded(progress: Progress) -> T:
        try:
            return work(Watch(progress, shared))
        except QuantascopeError:
            raise
        except BaseException as error:
            if not is_in_program(error):
                raise
            raise ProgramRaised(
                f"raises {described(error, f' at {place_of(error)}')}",
                "fix it, or leave this input out of the audit domain",
                state=_state(sources, progress.read()[1]),
            ) from error

    try:
        return run_isolated(guarded, seconds=time_limit(), shared=shared.values(), quiet=quiet)
    except Ended as end:
        raise _complaint(program, end, _state(sources, end.item)) from None


def _kept_by_a_fork() -> list[object]:
    """Functions with the names of their modules, and matches: they cannot be pickled, but a child has them too."""
    found = [one for one in gc.get_objects() if type(one) is FunctionType or type(one) is Match]
    return [*found, *{id(one.__globals__): one.__globals__ for one in found if type(one) is FunctionType}.values()]


def _state(sources: dict[int, object], address: int) -> State | None:
    return State(sources[address]) if address in sources else None


def _complaint(program: Program, end: Ended, state: State | None) -> ProgramError:
    quantum = next(
        (one.name for frame in end.frames for one in program.registry.quanta if _is_of(frame, one)), None
    )
    written = end.part if end.part >= 0 else -1 - end.part
    after = f", after {written} token{'s' * (written > 1)}" if written else ""
    what = f"{end.what}{end.place}{after}"
    if end.part < 0:
        what += " and with the output of another quantum replaced by one that it has on another input"
    if isinstance(end, TimedOut):
        leave_out = "make it terminate for all arguments" if end.part < 0 else "end its loop, leave this input out"
        remedy = f"{leave_out}, or set {TIME_LIMIT} to more seconds"
        return NeverEnds(what, remedy, quantum=quantum, state=state)
    return ProgramCrashed(what, "make it return a value, or leave this input out", quantum=quantum, state=state)


def _is_of(frame: Frame, quantum: Quantum) -> bool:
    """Whether a frame belongs to a quantum's function."""
    code = getattr(inspect.unwrap(quantum.function), "__code__", None)
    if code is None or (code.co_filename, code.co_name) != (frame.file, frame.function):
        return False
    return frame.line in {line for _, _, line in code.co_lines()}
