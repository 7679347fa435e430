"""The ways in which a program can be invalid, one exception class each.

Every message shows the quantum, the smallest offending input, and what to change.
"""

from functools import partial
from typing import Any

from quantascope.program.state import shown
from quantascope.runs.errors import QuantascopeError, one_line

_LONGEST = 600
"""Longest message, in characters."""


class ProgramError(QuantascopeError):
    """Base class of all errors about a program; `quantum` and `state` name where the error was seen."""

    def __init__(self, what: str, remedy: str, *, quantum: str | None = None, state: Any = None) -> None:
        self.what, self.remedy, self.quantum, self.state = what, remedy, quantum, state
        subject = [f"quantum {quantum}"] * (quantum is not None) + [f"on {state}"] * (state is not None)
        where = f"{one_line(', '.join(subject))}: " if subject else ""
        super().__init__(f"{where}{one_line(what, _LONGEST)}; {remedy}")

    def __reduce__(self) -> Any:
        return partial(type(self), self.what, self.remedy, quantum=self.quantum, state=self.state), ()

    def on(self, state: Any) -> "ProgramError":
        """The same error, seen on this state."""
        return (
            self
            if self.state is not None
            else type(self)(self.what, self.remedy, quantum=self.quantum, state=state)
        )


class InvalidRegistry(ProgramError):
    """Wrong declarations of quanta: none at all, a duplicate name, an impossible cardinality."""


class InvalidEntry(ProgramError):
    """An entry that cannot be run: its parameters, its vocabulary, or the file that should hold it."""


class EmptyAudit(ProgramError):
    """The audit domain has no inputs."""


class ProgramRaised(ProgramError):
    """The program raised an exception."""


class ProgramCrashed(ProgramError):
    """The program ended its process."""


class NeverEnds(ProgramError):
    """The program loops, or never writes the end token."""


class UnknownToken(ProgramError):
    """A token outside the vocabulary."""


class EscapedValue(ProgramError):
    """A value that left tracking: converted to a plain value, or used for a branch outside `when`."""


class EscapedChoice(ProgramError):
    """A choice made under a guard that has an effect after the guard has closed."""


class UntracedGuard(ProgramError):
    """A guard on a value that does not come from a quantum."""


class CrossedGuards(ProgramError):
    """Guards that are opened and closed by hand and do not nest."""


class ChangedArgument(ProgramError):
    """A quantum that changes its arguments."""


class UncheckableArgument(ProgramError):
    """An argument of a quantum that cannot be read, copied or sent to another process, and so not be checked."""


class NestedQuantum(ProgramError):
    """A quantum called in the body of another, where its dependencies are not tracked."""


class RepeatedQuantum(ProgramError):
    """A quantum that runs twice in one event."""


class UnhashableOutput(ProgramError):
    """An output of a quantum that cannot be hashed or compared."""


class MixedOutputs(ProgramError):
    """Outputs of a quantum that are equal but not identical, such as 1 and True."""


class NotDeterministic(ProgramError):
    """Two runs on one input that differ."""


class HiddenInput(ProgramError):
    """A quantum that returns different outputs for equal arguments."""


class HiddenDependency(ProgramError):
    """A quantum that changes with another one, although no dependency was seen."""


class AmbientInput(ProgramError):
    """A program that reads the clock, the environment or what else differs between processes, or changes files."""


class NoEmitter(ProgramError):
    """A token that no quantum wrote: an unannotated code path."""


class SeveralEmitters(ProgramError):
    """A token composed from several quanta."""


class UnstableParents(ProgramError):
    """A quantum whose parents differ between inputs."""


class Unconnected(ProgramError):
    """A quantum that runs although nothing leads from it to the token."""


class DeadQuantum(ProgramError):
    """A quantum that never runs on the audit domain."""


class NoEffect(ProgramError):
    """A quantum whose output never changes the token."""


class CardinalityExceeded(ProgramError):
    """More distinct outputs than were declared."""


class NotClosed(ProgramError):
    """A quantum that runs although a parent does not."""


class UnseenDependency(ProgramError):
    """A dependency that the audit domain did not show."""


class UnseenOutcome(ProgramError):
    """A value to be taught that the audit domain did not show."""


class WrongAnswer(ProgramError):
    """A program whose output differs from its task's answer."""


def no_end(state: Any, end: str) -> NeverEnds:
    """The error for a program that does not stop writing."""
    return NeverEnds(
        f"writes {state.position} tokens without the end token '{end}'",
        "make it write the end token, or raise `longest` of the entry",
        state=state,
    )


def uncountable(value: Any, quantum: str, state: Any = None) -> UnhashableOutput:
    """The error for an output that cannot be hashed or compared."""
    what = shown(value) if isinstance(value, float) else f"a {type(value).__name__}"
    return UnhashableOutput(
        f"returns {what}, which cannot be hashed or compared",
        "return a number, string, tuple, enum or frozen dataclass",
        quantum=quantum,
        state=state,
    )


def uncheckable(what: str, quantum: str, state: Any = None) -> UncheckableArgument:
    """The error for an argument of which the compiler cannot check that nothing is hidden in it."""
    return UncheckableArgument(
        f"is given {what}, so that a hidden dependency would not be noticed",
        "pass it the values that it needs: numbers, strings, tuples, tables",
        quantum=quantum,
        state=state,
    )


def unknown_token(token: Any, state: Any, quantum: str | None = None) -> UnknownToken:
    """The error for a token outside the vocabulary."""
    return UnknownToken(
        f"writes {shown(token)}, which is not in the vocabulary",
        "add it to the vocabulary of the entry, or fix the quantum that writes it",
        quantum=quantum,
        state=state,
    )
