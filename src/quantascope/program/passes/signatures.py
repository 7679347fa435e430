"""Checks that each quantum depends on the same parents wherever it runs, and that each quantum runs somewhere."""

from quantascope.program.passes.execute import Observations
from quantascope.program.state import State
from quantascope.program.tracer import Signature
from quantascope.program.violations import DeadQuantum, UnstableParents

Signatures = tuple[Signature, ...]
"""The one signature of each quantum."""


def stable_signatures(observed: Observations) -> Signatures:
    """The data parents of each argument and the control parents of every quantum."""
    found: dict[int, tuple[Signature, State]] = {}
    for activation, state in observed.activations.items():
        for quantum, signature in activation.shape:
            before, where = found.setdefault(quantum, (signature, state))
            if before != signature:
                raise UnstableParents(
                    f"depends on {described(observed.names, signature)}, and on "
                    f"{described(observed.names, before)} on {where}",
                    "pass it values of the same quanta under the same guards everywhere, or split it in two",
                    quantum=observed.names[quantum],
                    state=state,
                )
    for quantum, name in enumerate(observed.names):
        if quantum not in found:
            raise DeadQuantum(
                f"never runs on the {len(observed.events):,} events of the audit domain",
                "call it, remove it, or add an input to `audit` that needs it",
                quantum=name,
            )
    return tuple(found[quantum][0] for quantum in range(len(observed.names)))


def described(names: tuple[str, ...], signature: Signature) -> str:
    """A signature as readable text: data parents by argument, then guards."""
    data = [" + ".join(of_bits(names, producers)) or "the input alone" for producers in signature.data]
    guards = of_bits(names, signature.control)
    return f"({', '.join(data)})" + (f" under {', '.join(guards)}" if guards else "")


def of_bits(names: tuple[str, ...], bits: int) -> list[str]:
    """The quanta whose bits are set."""
    return [name for index, name in enumerate(names) if bits >> index & 1]
