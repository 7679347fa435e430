"""`Answers`: what each quantum returned for which arguments; equal arguments must give equal outputs."""

from copy import deepcopy
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, no_type_check

from quantascope.program.recipes import Recipes
from quantascope.program.registry import Quantum
from quantascope.program.state import State, shown
from quantascope.program.tables import LARGE
from quantascope.program.violations import HiddenInput, ProgramError, uncheckable, uncountable
from quantascope.runs.errors import described

_CONTENTS = object()
_COUNTABLE = frozenset((int, str, bool, bytes, type(None)))
_FIXED = (int, str, bool, float, complex, bytes, type(None))


class Answer(NamedTuple):
    """The arguments, the output, and the first state on which both were seen."""

    arguments: tuple[Any, ...]
    value: Any
    state: State


@no_type_check
class Answers:
    """The first answer of each quantum to each set of arguments; later answers are checked against it."""

    def __init__(self, recipes: Recipes) -> None:
        self._recipes = recipes
        self._known: dict[tuple[Any, ...], Answer] = {}
        self._fixed = set(_FIXED)

    def of(self, quantum: int) -> list[Answer]:
        """The distinct answers of a quantum."""
        return [answer for key, answer in self._known.items() if key[0] == quantum]

    def changeable(self, arguments: list[Any]) -> tuple[int, ...]:
        """The contents of the mutable arguments, to be compared after the quantum has run."""
        fixed = self._fixed
        return tuple(
            [self._recipes.of(one) for one in arguments if type(one) not in fixed and not self._is_fixed(one)]
        )

    def add(
        self, quantum: Quantum, arguments: list[Any], changeable: bool, value: Any, state: State
    ) -> ProgramError | None:
        """Record an answer; returns an error if it differs from an earlier one or cannot be compared."""
        if type(value) not in _COUNTABLE and not _is_countable(value):
            return uncountable(value, quantum.name)
        given = (_CONTENTS, *map(self._recipes.of, arguments)) if changeable else arguments
        key = quantum.index, *given
        before = self._known.get(key)
        if before is None:
            try:
                kept = self._copied(arguments) if changeable else tuple(arguments)
            except Exception as error:
                return uncheckable(f"arguments that cannot be copied ({described(error)})", quantum.name)
            self._known[key] = Answer(kept, value, state)
            return None
        if before.value == value or not (changeable or self._is_same(before.arguments, arguments)):
            return None
        if equals_only_itself(before.value) and equals_only_itself(value):
            return uncountable(value, quantum.name)
        inputs = ", ".join(map(shown, arguments))
        return HiddenInput(
            f"returns {shown(value)} for ({inputs}), and {shown(before.value)} for the same on {before.state}",
            "make it depend only on its arguments: no randomness, no global state",
            quantum=quantum.name,
        )

    def _is_fixed(self, value: Any) -> bool:
        """Whether a value is immutable: numbers, strings, enum members, and tuples of these."""
        kind = type(value)
        if kind in self._fixed:
            return True
        if isinstance(value, (Enum, type)):
            self._fixed.add(kind)
            return True
        return isinstance(value, tuple) and all(map(self._is_fixed, value))

    def _is_same(self, one: tuple[Any, ...], other: list[Any]) -> bool:
        """Whether arguments have the same content and types: 1 and True are equal but not the same."""
        return [*map(self._recipes.of, one)] == [*map(self._recipes.of, other)]

    def _copied(self, arguments: list[Any]) -> tuple[Any, ...]:
        """A copy of the arguments as they are now; large tables are not copied."""
        memo = _Memo(self._recipes)
        return tuple([_copy(one, memo) for one in arguments])


@no_type_check
class _Memo(dict):
    """The memo of a deep copy in which large tables, and what is known by identity, stand for themselves."""

    def __init__(self, recipes: Recipes) -> None:
        super().__init__()
        self._recipes = recipes

    def get(self, address: int, default: Any = None) -> Any:
        """The copy of the object at an address, if there is one."""
        copied = super().get(address, default)
        if copied is not default:
            return copied
        shared = self._recipes.uncopied(address)
        return default if shared is None else shared


def _copy(value: Any, memo: _Memo) -> Any:
    """A deep copy, also of a read-only view of a dictionary."""
    if type(value) is MappingProxyType and len(value) < LARGE:
        return MappingProxyType(deepcopy(dict(value), memo))
    return value if type(value) is MappingProxyType else deepcopy(value, memo)


@no_type_check
def equals_only_itself(value: Any) -> bool:
    """Whether values of this type are compared by identity, like generators and most objects."""
    return type(value).__eq__ is object.__eq__ and not isinstance(value, Enum)


@no_type_check
def _is_countable(value: Any) -> bool:
    """Whether a value can be hashed and equals itself; NaN and arrays do not."""
    try:
        hash(value)
        return bool(value == value)
    except BaseException:
        return False
