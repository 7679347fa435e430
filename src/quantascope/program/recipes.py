"""`Recipes`: numbers that identify how values between quanta are computed.

The recipe of a quantum's output is the quantum, the recipe of a constant is its content, and the recipe of any
other value is the function with the recipes of its operands. Two values with the same number are the same function
of the same quanta and of the input. Each distinct recipe gets one number, so that long computations stay cheap to
compare.

Plain values are compared by content and type: containers and objects by their parts, functions by code, defaults,
attributes and closure. A value whose content cannot be read, such as a generator or an open file, is compared by
identity, and what holds one is noted.
"""

import copyreg
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, NoReturn, no_type_check

from quantascope.program.registry import Program, Quantum, Registry
from quantascope.program.tables import Tables
from quantascope.program.traced import Traced, refuse_use

_SCALARS = frozenset((int, str, bool, type(None)))
_CONSTANTS = frozenset((bytes, complex, type(...), type(NotImplemented), CodeType, range))
_ITERABLES = frozenset((tuple, list))
_MAPPINGS = frozenset((dict, MappingProxyType))
_OPENED = (tuple, list, dict, slice)
"""Containers in a quantum's arguments that are searched for traced values; dataclasses are searched too."""
_KNOWN_BY_IDENTITY = (Enum, type, ModuleType, Quantum, Registry, Program)
_CONSTANT, _RESULT, _IDENTITY, _CYCLE = "constant", "result", "identity", "cycle"
_BY_NAME = ("by name",)
"""The content of a global that pickles as its name, such as a ufunc."""


@no_type_check
class Recipes:
    """A table of recipes; recipes of quanta are negative numbers and are not stored."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[int, Any]] = {}
        self._tables = Tables()
        self._open: dict[int, int] = {}
        self._closed_to_tracing = 0
        self._unread: dict[int, tuple[int, Any]] = {}
        self._holding: dict[int, Any] = {}
        self._met: list[Any] = []
        self.has_unread = False
        """Whether some value so far could not be read."""
        self.looked_inside = 0
        """Number of parts of mutable plain values that were inspected."""

    def of(self, value: Any) -> int:
        """The recipe of a value, traced or not."""
        kind = type(value)
        if kind is Traced:
            return self._of_traced(value) if self._closed_to_tracing else value.traced_recipe
        if kind in _SCALARS:
            return self._number((_CONSTANT, kind, value))
        known = self._known.get(id(value))
        return self._of_object(value) if known is None else known[0]

    def applied(self, function: Callable[..., Any], operands: Iterable[Any]) -> int:
        """The recipe of a function's result."""
        return self._number((_RESULT, self.of(function), *map(self.of, operands)))

    def constant(self, recipe: int) -> str | None:
        """The constant of a recipe as readable text, if the recipe is a constant."""
        keys = (key for key, number in self._numbers.items() if number == recipe)
        return next((repr(key[2]) for key in keys if key[0] == _CONSTANT), None)

    def kept_by_identity(self, recipe: int) -> str | None:
        """The type of the value, if the recipe identifies it by identity only."""
        return next((type(one).__name__ for number, one in self._known.values() if number == recipe), None)

    def unreadable(self, recipe: int) -> str | None:
        """The type of a part of a plain value, or of the value itself, whose content cannot be read."""
        return type(self._holding[recipe]).__name__ if recipe in self._holding else None

    def uncopied(self, address: int) -> Any:
        """The object at an address if copies share it: a large container, or what is known by identity."""
        return self._known[address][1] if address in self._known else self._tables.at(address)

    def _number(self, key: tuple[Any, ...]) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _of_object(self, value: Any) -> int:
        if isinstance(value, _KNOWN_BY_IDENTITY) or _is_of_module(value):
            return self._identity(value)
        number = self._tables.find(value)
        if number is not None:
            return self._noted(number)
        if id(value) in self._unread:
            return self._noted(self._unread[id(value)][0])
        before, met = self.looked_inside, len(self._met)
        self.looked_inside += 1
        if id(value) in self._open:
            return self._number((_CYCLE, len(self._open) - self._open[id(value)]))
        self._open[id(value)] = len(self._open)
        try:
            key = self._content(value)
        finally:
            del self._open[id(value)]
        if key is None:
            number = self._number((_IDENTITY, id(value)))
            self._unread[id(value)] = number, value
            self._met.append(value)
            self.has_unread = True
        else:
            number = self._identity(value) if key is _BY_NAME else self._number(key)
        if len(self._met) > met:
            self._holding[number] = self._met[-1]
        if not self._open:
            self._met.clear()
        self._tables.keep(value, number, self.looked_inside - before)
        return number

    def _noted(self, number: int) -> int:
        """The same number; what holds it holds its unreadable part too."""
        if self._open and number in self._holding:
            self._met.append(self._holding[number])
        return number

    def _identity(self, value: Any) -> int:
        number = self._number((_IDENTITY, id(value)))
        self._known[id(value)] = number, value
        return number

    def _of_traced(self, value: Traced) -> NoReturn:
        refuse_use(
            value,
            "is held by an object that the compiler does not search",
            "pass it as a separate argument, or in a tuple, list, dictionary or dataclass",
        )

    def _content(self, value: Any) -> tuple[Any, ...] | None:
        """The content of a value as recipes of its parts; None if it cannot be read."""
        kind = type(value)
        if kind in _CONSTANTS:
            return _CONSTANT, kind, value
        if kind is float:
            return _CONSTANT, kind, value if value == value else "nan", str(value)
        if kind in _ITERABLES or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            self.looked_inside += len(value)
            return kind, *map(self.of, value)
        if kind in _MAPPINGS:
            self.looked_inside += len(value)
            return kind, *map(self.of, value), *map(self.of, value.values())
        if kind is defaultdict and value.default_factory is not None:
            return self._defaults(value)
        if kind is slice:
            return kind, *map(self.of, (value.start, value.stop, value.step))
        opened = isinstance(value, _OPENED) or hasattr(kind, "__dataclass_fields__")
        self._closed_to_tracing += not opened
        try:
            return self._opaque(kind, value)
        finally:
            self._closed_to_tracing -= not opened

    def _defaults(self, table: defaultdict[Any, Any]) -> tuple[Any, ...]:
        """Look up a key of a table; a missing key is filled by the factory, which does not count as a change."""
        assert table.default_factory is not None, "it is asked before"
        default = self.of(table.default_factory())
        items = [(self.of(key), number) for key, value in table.items() if (number := self.of(value)) != default]
        self.looked_inside += len(table)
        return defaultdict, self.of(table.default_factory), default, *items

    def _opaque(self, kind: type, value: Any) -> tuple[Any, ...] | None:
        if kind in (set, frozenset):
            self.looked_inside += len(value)
            return kind, frozenset(map(self.of, value))
        if kind is FunctionType:
            return self._function(value)
        if kind is MethodType:
            return kind, self.of(value.__func__), self.of(value.__self__)
        if kind in (BuiltinMethodType, MethodWrapperType):
            return kind, value.__qualname__, self.of(value.__self__)
        if kind is re.Match:
            return kind, *map(self.of, (value.re, value.string, value.pos, value.endpos, value.regs))
        parts = _reduced(value)
        return parts if parts is None or parts is _BY_NAME else (kind, *map(self.of, parts))

    def _function(self, function: FunctionType) -> tuple[Any, ...]:
        parts = function.__defaults__, function.__kwdefaults__, vars(function), *_closure(function)
        return FunctionType, function.__code__, id(function.__globals__), *map(self.of, parts)


def _closure(function: FunctionType) -> list[Any]:
    held = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not bound yet
            held.append(cell.cell_contents)
    return held


def _is_of_module(value: Any) -> bool:
    """Whether a value is a built-in function such as `max`."""
    return type(value) is BuiltinMethodType and type(value.__self__) in (ModuleType, type(None))


def _reduced(value: Any) -> tuple[Any, ...] | None:
    """The parts of an object according to its `__reduce_ex__`, or `_BY_NAME`; None if it has none."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception:
        return None
    if not isinstance(parts, tuple):
        return _BY_NAME
    whole: list[Any] = [*parts, None, None, None]
    make, given, state, items, pairs = whole[:5]
    return make, given, state, tuple(items or ()), tuple(pairs or ())
