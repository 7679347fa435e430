"""What can be wrong with a program, one class each.

Every message shows the quantum, the smallest offending input, and what to change.
"""

from functools import partial
from typing import Any

from quantascope.program.state import shown
from quantascope.runs.errors import QuantascopeError, one_line

_LONGEST = 600
"""Characters that a complaint may have."""


class ProgramError(QuantascopeError):
    """Base of all complaints about a program; `quantum` and `state` tell where it was seen."""

    def __init__(self, what: str, remedy: str, *, quantum: str | None = None, state: Any = None) -> None:
        self.what, self.remedy, self.quantum, self.state = what, remedy, quantum, state
        subject = [f"quantum {quantum}"] * (quantum is not None) + [f"on {state}"] * (state is not None)
        where = f"{one_line(', '.join(subject))}: " if subject else ""
        super().__init__(f"{where}{one_line(what, _LONGEST)}; {remedy}")

    def __reduce__(self) -> Any:
        return partial(type(self), self.what, self.remedy, quantum=self.quantum, state=self.state), ()

    def on(self, state: Any) -> "ProgramError":
        """The same complaint, seen on this state."""
        return (
            self
            if self.state is not None
            else type(self)(self.what, self.remedy, quantum=self.quantum, state=state)
        )


class InvalidRegistry(ProgramError):
    """Quanta that are declared wrongly: none at all, a name twice, an impossible cardinality."""


class InvalidEntry(ProgramError):
    """An entry that cannot be run: its parameters, its vocabulary, or the file that should hold it."""


class EmptyAudit(ProgramError):
    """No input to audit the program on."""


class ProgramRaised(ProgramError):
    """The program raised an exception."""


class ProgramCrashed(ProgramError):
    """The program ended the process that it ran in."""


class NeverEnds(ProgramError):
    """The program loops, or never writes the end token."""


class UnknownToken(ProgramError):
    """A token outside the vocabulary."""


class EscapedValue(ProgramError):
    """A value that left tracking: made plain, or used to decide a branch outside `when`."""


class EscapedChoice(ProgramError):
    """Something chosen under a guard that shows after the guard has closed."""


class UntracedGuard(ProgramError):
    """A guard on something that no quantum made."""


class CrossedGuards(ProgramError):
    """Guards that are opened and closed by hand, so that they do not nest."""


class ChangedArgument(ProgramError):
    """A quantum that changes what it is given."""


class NestedQuantum(ProgramError):
    """A quantum called in the body of another, where its dependencies are not seen."""


class RepeatedQuantum(ProgramError):
    """A quantum that runs twice in one event."""


class UnhashableOutput(ProgramError):
    """A quantum's output that cannot be compared and counted."""


class MixedOutputs(ProgramError):
    """Outputs of a quantum that are equal although they are of different types."""


class NotDeterministic(ProgramError):
    """Two runs on one input that differ."""


class HiddenInput(ProgramError):
    """A quantum that answers differently to equal arguments."""


class HiddenDependency(ProgramError):
    """A quantum that changes with another one on which it is not seen to depend."""


class AmbientInput(ProgramError):
    """A program that reads the clock, the environment, or something else that differs between processes."""


class NoEmitter(ProgramError):
    """A token that no quantum wrote: an unannotated path."""


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
    """A value that is to be taught and that the audit domain did not show."""


class WrongAnswer(ProgramError):
    """A program that writes something else than its task asks for."""


def no_end(state: Any, end: str) -> NeverEnds:
    """The complaint about a program that goes on writing."""
    return NeverEnds(
        f"writes {state.position} tokens without the end token '{end}'",
        "let it write the end, or raise `longest` of the entry",
        state=state,
    )


def uncountable(value: Any, quantum: str, state: Any = None) -> UnhashableOutput:
    """The complaint about an output that cannot be told from others."""
    what = shown(value) if isinstance(value, float) else f"a {type(value).__name__}"
    return UnhashableOutput(
        f"returns {what}, which cannot be compared and counted",
        "return a number, string, tuple, enum or frozen dataclass",
        quantum=quantum,
        state=state,
    )


def unknown_token(token: Any, state: Any, quantum: str | None = None) -> UnknownToken:
    """The complaint about a token outside the vocabulary."""
    return UnknownToken(
        f"writes {shown(token)}, which is not in the vocabulary",
        "add it to the vocabulary of the entry, or mend what writes it",
        quantum=quantum,
        state=state,
    )
