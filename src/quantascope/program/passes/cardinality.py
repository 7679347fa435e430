"""No quantum has more distinct outputs than it declares."""

from typing import Any

from quantascope.program.passes.execute import Observations
from quantascope.program.registry import Quantum
from quantascope.program.state import State, shown
from quantascope.program.violations import CardinalityExceeded

Outcomes = tuple[tuple[Any, ...], ...]
"""The distinct outputs of each quantum, in the order in which the audit domain shows them."""


def bounded_outcomes(quanta: tuple[Quantum, ...], observed: Observations) -> Outcomes:
    """The outputs of every quantum, within their bounds."""
    for quantum, outcomes in zip(quanta, observed.outcomes, strict=True):
        if len(outcomes) > quantum.output_cardinality:
            value, state = list(outcomes.items())[quantum.output_cardinality]
            raise too_many(quantum, value, state)
    return tuple(tuple(outcomes) for outcomes in observed.outcomes)


def too_many(quantum: Quantum, value: Any, state: State) -> CardinalityExceeded:
    """The complaint about an output beyond those declared."""
    return CardinalityExceeded(
        f"returns {shown(value)}, one output more than its output_cardinality={quantum.output_cardinality}",
        "raise the cardinality, or let it return fewer distinct values",
        quantum=quantum.name,
        state=state,
    )
