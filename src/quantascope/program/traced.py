"""`Traced`: a value that remembers which quanta it was computed from.

Arithmetic, comparison, indexing, attributes and methods of traced values return traced values, whose producers are
the producers of all operands. Python itself sometimes needs a plain value: a truth value for `if`, an integer for
`range`, a hash for a dictionary. Such a conversion would lose the dependency, so it raises an error with file and
line.

Code that runs for every value of every event is exempt from run-time type checks, which would dominate its cost.
"""

import dataclasses
import operator
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any, NoReturn, Protocol, no_type_check, runtime_checkable

from quantascope.program.place import place_in_program
from quantascope.program.state import State
from quantascope.program.tables import Tables
from quantascope.program.violations import EscapedValue, ProgramError

Reading = Callable[[State], Any]
"""Computes from another state a value that was computed from the input outside any quantum."""


@runtime_checkable
class Observer(Protocol):
    """Protocol of an object that follows the values of one program."""

    def names(self, producers: int) -> str:
        """The names of the quanta behind bits, as readable text."""
        ...

    def recipe(self, function: Callable[..., Any], operands: Iterable[Any]) -> int:
        """The recipe of a function's result, as a number."""
        ...

    def note_length(self, recipe: int, length: int) -> None:
        """Called when the length of a tuple with this recipe is used."""
        ...

    def checked_call(self, function: Callable[..., Any], given: tuple[Any, ...], plain: list[Any]) -> Any:
        """The result of a function on plain operands and its recipe; the function must not change its operands."""
        ...

    def refuse(self, complaint: ProgramError) -> NoReturn:
        """Raise an error, and record it in case the program catches it."""
        ...


@no_type_check
class Traced:
    """A value, the quanta it comes from as bits, its recipe, and its reading if it uses the input directly."""

    __slots__ = ("traced_observer", "traced_producers", "traced_reading", "traced_recipe", "traced_value")

    def __init__(
        self, value: Any, producers: int, recipe: int, reading: Reading | None, observer: "Observer"
    ) -> None:
        self.traced_value, self.traced_producers, self.traced_recipe = value, producers, recipe
        self.traced_reading, self.traced_observer = reading, observer

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class of the value, so that isinstance() and run-time type checkers see what they expect."""
        return type(self.traced_value)

    def __repr__(self) -> str:
        # Without the value, which would leave tracking.
        return f"Traced({self.traced_observer.names(self.traced_producers) or 'the input'})"

    def __getattr__(self, name: str) -> "Traced":
        if name.startswith("__"):
            raise AttributeError(name)
        if self.traced_reading is itself:
            recipe = self.traced_observer.recipe(getattr, (self, name))
            found = getattr(self.traced_value, name)
            return Traced(found, 0, recipe, operator.attrgetter(name), self.traced_observer)
        return lift(getattr, self, name)

    def __call__(self, *arguments: Any, **named: Any) -> "Traced":
        return lift(_call, self, arguments, named)

    def __getitem__(self, index: Any) -> "Traced":
        return lift(operator.getitem, self, index)

    def __iter__(self) -> Any:
        if not isinstance(self.traced_value, tuple):
            refuse_use(self, "decides how often a loop runs", "loop inside a quantum, or let it return a tuple")
        return (self[index] for index in range(len(self)))

    def __bool__(self) -> NoReturn:
        refuse_use(
            self,
            "decides a branch outside `when`",
            "write `with when(value, case) as active: if active: …`, or lift(sorted, values) and lift(max, a, b)",
        )

    def __int__(self) -> NoReturn:
        refuse_use(self, "is converted to a plain int", "write lift(int, value), or compute inside a quantum")

    def __index__(self) -> NoReturn:
        refuse_use(
            self,
            "is converted to a plain integer",
            "write lift(table.__getitem__, value), or lift(f, value) for a function f that needs it; a loop over "
            "range(value) belongs inside a quantum",
        )

    def __float__(self) -> NoReturn:
        refuse_use(self, "is converted to a plain float", "write lift(f, value) for a function f that needs one")

    def __hash__(self) -> NoReturn:
        refuse_use(self, "is used as a plain key", "look it up inside a quantum, or with lift(table.get, value)")

    def __len__(self) -> int:
        # Python calls this to unpack a tuple, which is safe while all tuples with this recipe have one length.
        if not isinstance(self.traced_value, tuple):
            refuse_use(self, "is passed to len()", "write lift(len, value)")
        self.traced_observer.note_length(self.traced_recipe, len(self.traced_value))
        return len(self.traced_value)

    def __contains__(self, item: Any) -> NoReturn:
        refuse_use(
            self, "is searched with `in`, which returns a plain bool", "write lift(operator.contains, value, item)"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_use(self, "is copied", "use it unchanged; no value of a quantum may be modified")

    def __str__(self) -> NoReturn:
        refuse_use(self, "is converted to a plain string", "write lift(str, value), or print it inside a quantum")

    def __format__(self, specification: str) -> NoReturn:
        refuse_use(
            self, "is converted to a plain string", "write lift(format, value), or print it inside a quantum"
        )


@no_type_check
def lift(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Apply a function that needs plain values to traced ones and track the result: `lift(max, a, b)`.

    The function must not change its arguments. Without traced arguments this is a plain call.

    >>> lift(max, 2, 3), lift(sorted, (2, 3), reverse=True)
    (3, [3, 2])
    """
    if named:
        return lift(_call, function, arguments, named)
    plain, producers, readings, observer = opened_all(arguments)
    if observer is None:
        return function(*plain)
    value, recipe = observer.checked_call(function, arguments, plain)
    united = 0
    for bits in producers:
        united |= bits
    return Traced(value, united, recipe, joint_reading(function, plain, readings), observer)


Readings = list[Reading | None]
OpenedAll = tuple[list[Any], list[int], Readings | None, Observer | None]


@no_type_check
def opened_all(arguments: Iterable[Any]) -> OpenedAll:
    """The plain values of arguments, their producers, and their readings and observer, if any."""
    plain, producers, readings = [], [], []
    reads, observer = False, None
    for argument in arguments:
        if type(argument) is Traced:
            value, bits = argument.traced_value, argument.traced_producers
            reading, observer = argument.traced_reading, argument.traced_observer
        elif type(argument) in _CLOSED:
            value, bits, reading = argument, 0, None
        else:
            value, bits, reading, found = opened_up(argument)
            observer = observer or found
        plain.append(value)
        producers.append(bits)
        readings.append(reading)
        reads = reads or reading is not None
    return plain, producers, readings if reads else None, observer


@no_type_check
def opened_up(argument: Any) -> tuple[Any, int, Reading | None, Observer | None]:
    """The plain value of an untraced argument that may hold traced ones.

    Tuples, lists, dictionaries, slices and dataclasses are searched.
    """
    if isinstance(argument, (tuple, list)):
        make = argument._make if hasattr(argument, "_make") else type(argument)  # pyright: ignore
        return _rebuilt(argument, argument, lambda *parts: make(parts))
    if isinstance(argument, dict):
        return _rebuilt(argument, argument.values(), partial(_filled, argument))
    if isinstance(argument, slice):
        return _rebuilt(argument, (argument.start, argument.stop, argument.step), slice)
    if hasattr(argument, "__dataclass_fields__") and not isinstance(argument, type):
        names = [field.name for field in dataclasses.fields(argument) if field.init]
        parts = [getattr(argument, name) for name in names]
        return _rebuilt(
            argument, parts, lambda *parts: dataclasses.replace(argument, **dict(zip(names, parts, strict=True)))
        )
    _CLOSED.add(type(argument))
    return argument, 0, None, None


_CLOSED: set[type] = set()
"""Types seen so far that are not searched."""


@no_type_check
def _filled(mapping: dict[Any, Any], *values: Any) -> dict[Any, Any]:
    """A dictionary of the same type and keys with other values."""
    filled = copy(mapping)
    for key, value in zip(mapping, values, strict=True):
        filled[key] = value
    return filled


_UNTRACED = Tables()
"""Large containers without traced values."""


@no_type_check
def _rebuilt(
    whole: Any, parts: Iterable[Any], build: Callable[..., Any]
) -> tuple[Any, int, Reading | None, Observer | None]:
    if _UNTRACED.find(whole):
        return whole, 0, None, None
    plain, producers, readings, observer = opened_all(parts)
    if observer is None:
        _UNTRACED.keep(whole, True, len(plain))
        return whole, 0, None, None
    united = 0
    for bits in producers:
        united |= bits
    return build(*plain), united, joint_reading(build, plain, readings), observer


@no_type_check
def joint_reading(function: Callable[..., Any], plain: list[Any], readings: Readings | None) -> Reading | None:
    """The reading of a function's result; operands that do not use the input directly are constants."""
    if readings is None:
        return None
    moving = [(place, reading) for place, reading in enumerate(readings) if reading is not None]
    if len(moving) == 1:
        (place, reading) = moving[0]
        before, after = plain[:place], plain[place + 1 :]
        return lambda state: function(*before, reading(state), *after)

    def read(state: State) -> Any:
        arguments = plain.copy()
        for place, reading in moving:
            arguments[place] = reading(state)
        return function(*arguments)

    return read


def traced_state(state: State, recipe: int, observer: Observer) -> Traced:
    """The traced input of a program, which no quantum produced."""
    return Traced(state, 0, recipe, itself, observer)


def refuse_use(traced: Traced, what: str, remedy: str) -> NoReturn:
    """Raise an error that a traced value leaves tracking here."""
    producers = traced.traced_observer.names(traced.traced_producers)
    whose = f"of {producers}" if producers else "of the input"
    traced.traced_observer.refuse(EscapedValue(f"a value {whose} {what} at {place_in_program()}", remedy))


def itself(state: State) -> State:
    """The reading of the input."""
    return state


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)


def _binary(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    def forward(self: Traced, other: Any) -> Any:
        return lift(operation, self, other)

    def backward(self: Traced, other: Any) -> Any:
        return lift(operation, other, self)

    return forward, backward


def _unary(operation: Callable[[Any], Any]) -> Any:
    return lambda self: lift(operation, self)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
    _forward, _backward = _binary(getattr(operator, f"__{_name}__"))
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _backward)
setattr(Traced, "__divmod__", _binary(divmod)[0])  # noqa: B010
setattr(Traced, "__rdivmod__", _binary(divmod)[1])  # noqa: B010
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Traced, f"__{_name}__", _binary(getattr(operator, _name))[0])
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Traced, f"__{_name}__", _unary(getattr(operator, _name)))
