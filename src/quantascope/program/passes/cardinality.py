"""Checks that no quantum has more distinct outputs than it declares."""

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
    """The distinct outputs of every quantum; raises for too many, and for equal but not identical ones."""
    for quantum, outcomes in zip(quanta, observed.outcomes, strict=True):
        _check_types(quantum, observed.answers.of(quantum.index), recipes)
        if len(outcomes) > quantum.output_cardinality:
            value, state = list(outcomes.items())[quantum.output_cardinality]
            raise too_many(quantum, value, state)
    return tuple(tuple(outcomes) for outcomes in observed.outcomes)


def _check_types(quantum: Quantum, answers: list[Answer], recipes: Recipes) -> None:
    """Equal values count as one output, so they must be identical: not 1, True and 1.0."""
    first: dict[Any, Answer] = {}
    for answer in answers:
        before = first.setdefault(answer.value, answer)
        if before.value is not answer.value and recipes.of(before.value) != recipes.of(answer.value):
            raise mixed(quantum, answer.value, before.value, answer.state, before.state)


def mixed(quantum: Quantum, value: Any, kept: Any, state: State, before: State | None = None) -> MixedOutputs:
    """The error for an output that equals an earlier one, of the state `before` if known, but is not identical."""
    where = "another input" if before is None else before
    return MixedOutputs(
        f"returns {shown(value)}, and {shown(kept)} on {where}, which are equal but not identical",
        "return the same value wherever outputs are equal",
        quantum=quantum.name,
        state=state,
    )


def too_many(quantum: Quantum, value: Any, state: State) -> CardinalityExceeded:
    """The error for an output beyond the declared cardinality."""
    return CardinalityExceeded(
        f"returns {shown(value)}, one output more than its output_cardinality={quantum.output_cardinality}",
        "raise the cardinality, or let it return fewer distinct values",
        quantum=quantum.name,
        state=state,
    )
