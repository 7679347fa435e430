"""Validates the registry, the entry, the vocabulary and the audit domain."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quantascope.program.registry import Program
from quantascope.program.state import shown
from quantascope.program.violations import EmptyAudit, InvalidEntry, InvalidRegistry

MOST_TOKENS = 10_000
"""Largest number of tokens that an entry may allow for one input."""


@dataclass(frozen=True)
class Declaration:
    """A program that can be run, and its audit domain, smallest input first."""

    program: Program
    inputs: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its quanta."""
        return self.program.registry.names


def validate(program: Program) -> Declaration:
    """The declaration of a program; raises if something is wrong with it."""
    if not program.registry.quanta:
        raise InvalidRegistry("the registry holds no quantum", 'declare some with @registry.quantum("NAME", …)')
    _check_parameters(program)
    _check_vocabulary(program)
    return Declaration(program, ascending(program.audit))


def ascending(inputs: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct inputs, the smallest first where they can be compared."""
    try:
        distinct = tuple(dict.fromkeys(inputs))
    except TypeError:
        raise InvalidEntry("an input cannot be hashed", "use numbers, strings or tuples as inputs") from None
    if not distinct:
        raise EmptyAudit("the audit domain is empty", "give at least one input as `audit` of the entry")
    try:
        return tuple(sorted(distinct))
    except Exception:
        return distinct


def _check_parameters(program: Program) -> None:
    try:
        signature = inspect.signature(program.entry)
    except ValueError:
        return  # unknown, as of a built-in function
    try:
        signature.bind(None)
    except TypeError:
        parameters = ", ".join(signature.parameters)
        raise InvalidEntry(
            f"the entry is {program.name}({parameters})", "declare it with one parameter, a State"
        ) from None


def _check_vocabulary(program: Program) -> None:
    seen: set[str] = set()
    for token in program.vocabulary:
        if not isinstance(token, str):
            raise InvalidEntry(f"the vocabulary holds {shown(token)}", "tokens are strings")
        if token in seen:
            raise InvalidEntry(f"the vocabulary holds '{token}' twice", "list each token once")
        seen.add(token)
    if program.end not in program.vocabulary:
        raise InvalidEntry(f"the end token {shown(program.end)} is not in the vocabulary", "add it")
    if not isinstance(program.longest, int) or program.longest < 1:
        raise InvalidEntry(f"longest is {shown(program.longest)}", "allow at least one token")
    if program.longest > MOST_TOKENS:
        raise InvalidEntry(f"longest is {shown(program.longest)}", f"allow at most {MOST_TOKENS:,} tokens")
