"""`Recipes`: how values between quanta are computed, as numbers.

The recipe of a quantum's output is the quantum, that of a constant the constant, and that of any other value the
function and the recipes of its operands. Two values with one number are the same function of the same quanta and
of the input. Numbers are given once per distinct recipe, so that long computations stay cheap to compare.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from enum import Enum
from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any, no_type_check

from quantascope.program.traced import Traced

_KNOWN_BY_IDENTITY = (Enum, type, ModuleType)


@no_type_check
class Recipes:
    """A table of recipes; those of quanta are negative numbers and stand in no table."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def of(self, value: Any) -> int:
        """The recipe of a value, traced or not."""
        if type(value) is Traced:
            return value._recipe
        return self._numbers.setdefault(self._key(value), len(self._numbers))

    def applied(self, function: Callable[..., Any], operands: Iterable[Any]) -> int:
        """The recipe of a function's result."""
        known = type(function) is BuiltinMethodType and type(getattr(function, "__self__", None)) is ModuleType
        key = (_RESULT, function if known else self.of(function), *map(self.of, operands))
        return self._numbers.setdefault(key, len(self._numbers))

    def constant(self, recipe: int) -> str | None:
        """The constant of a recipe for people, if it is one."""
        keys = (key for key, number in self._numbers.items() if number == recipe)
        return next((repr(key[2]) for key in keys if key[0] == _CONSTANT), None)

    def _key(self, value: Any) -> tuple[Any, ...]:
        kind = type(value)
        if kind in (int, str, bool, type(None)):
            return _CONSTANT, kind, value
        if isinstance(value, (tuple, list)):
            return kind, *map(self.of, value)
        if isinstance(value, dict):
            return kind, *map(self.of, value), *map(self.of, value.values())
        if isinstance(value, slice):
            return kind, *map(self.of, (value.start, value.stop, value.step))
        if isinstance(value, FunctionType):
            # A function in the closure of a function may be itself, so its code has to do.
            held = [cell.cell_contents for cell in value.__closure__ or ()]
            held = [one.__code__ if isinstance(one, FunctionType) else one for one in held]
            return kind, value.__code__, self.of(value.__defaults__), *map(self.of, held)
        if isinstance(value, (MethodType, BuiltinMethodType, MethodWrapperType)):
            return kind, value.__qualname__, self.of(value.__self__)
        if isinstance(value, functools.partial):
            return kind, self.of(value.func), self.of(value.args), self.of(value.keywords)
        if hasattr(value, "__dataclass_fields__") and kind.__eq__ is not object.__eq__ and kind is not value:
            return kind, *(self.of(getattr(value, field.name)) for field in dataclasses.fields(value))
        return (_CONSTANT, kind, value) if _is_comparable(value) else (kind,)


_CONSTANT, _RESULT = "constant", "result"


def _is_comparable(value: Any) -> bool:
    """Whether a value that is made anew equals its like; all others are told apart by their type only."""
    try:
        hash(value)
    except TypeError:
        return False
    return type(value).__eq__ is not object.__eq__ or isinstance(value, _KNOWN_BY_IDENTITY)
