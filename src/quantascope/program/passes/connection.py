"""Checks that a data or control path leads from every active quantum to the token, and that its parents ran."""

from collections.abc import Mapping

from quantascope.program.passes.execute import Activation
from quantascope.program.passes.signatures import of_bits
from quantascope.program.state import State
from quantascope.program.violations import NotClosed, Unconnected


def check_connection(names: tuple[str, ...], activations: Mapping[Activation, State]) -> None:
    """Follow each activation back from its token."""
    for activation, state in activations.items():
        needed = 1 << activation.emitter
        for quantum, signature in reversed(activation.shape):
            if needed >> quantum & 1:
                needed |= signature.parents
        for quantum, _ in activation.shape:
            if not needed >> quantum & 1:
                raise Unconnected(
                    f"runs, but nothing leads from it to the token of {names[activation.emitter]}",
                    "use its output, guard on it, or call it only where it is needed",
                    quantum=names[quantum],
                    state=state,
                )


def check_closure(names: tuple[str, ...], activations: Mapping[Activation, State]) -> None:
    """Check that activity is downward-closed: in each event the parents of an active quantum ran before it."""
    for activation, state in activations.items():
        active = 0
        for quantum, signature in activation.shape:
            missing = of_bits(names, signature.parents & ~active)
            if missing:
                raise NotClosed(
                    f"depends on {', '.join(missing)}, which does not run in this event",
                    "keep no values between events; compute them again",
                    quantum=names[quantum],
                    state=state,
                )
            active |= 1 << quantum
