"""No quantum has more distinct outputs than it declares."""

from typing import Any

from quantascope.program.answers import Answer
from quantascope.program.passes.execute import Observations
from quantascope.program.recipes import Recipes
from quantascope.program.registry import Quantum
from quantascope.program.state import State, shown
from quantascope.program.violations import CardinalityExceeded, MixedOutputs

Outcomes = tuple[tuple[Any, ...], ...]
"""The distinct outputs of each quantum, in the order in which the audit domain shows them."""


def bounded_outcomes(quanta: tuple[Quantum, ...], observed: Observations, recipes: Recipes) -> Outcomes:
    """The outputs of every quantum, within their bounds and of types that can be told apart."""
    for quantum, outcomes in zip(quanta, observed.outcomes, strict=True):
        _check_types(quantum, observed.answers.of(quantum.index), recipes)
        if len(outcomes) > quantum.output_cardinality:
            value, state = list(outcomes.items())[quantum.output_cardinality]
            raise too_many(quantum, value, state)
    return tuple(tuple(outcomes) for outcomes in observed.outcomes)


def _check_types(quantum: Quantum, answers: list[Answer], recipes: Recipes) -> None:
    """Values that are equal are one output, so they must be the same: not 1, True and 1.0."""
    first: dict[Any, Answer] = {}
    for answer in answers:
        before = first.setdefault(answer.value, answer)
        if before.value is not answer.value and recipes.of(before.value) != recipes.of(answer.value):
            raise MixedOutputs(
                f"returns {shown(answer.value)}, and {shown(before.value)} on {before.state}, which are equal but "
                "not the same",
                "return values of one type that differ where they are not equal",
                quantum=quantum.name,
                state=answer.state,
            )


def too_many(quantum: Quantum, value: Any, state: State) -> CardinalityExceeded:
    """The complaint about an output beyond those declared."""
    return CardinalityExceeded(
        f"returns {shown(value)}, one output more than its output_cardinality={quantum.output_cardinality}",
        "raise the cardinality, or let it return fewer distinct values",
        quantum=quantum.name,
        state=state,
    )
