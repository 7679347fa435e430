"""`Traced`: a value that remembers which quanta it was computed from.

Arithmetic, comparison, indexing, attributes and methods of traced values are traced values; their producers are
those of all operands. Python itself sometimes demands a plain value: a truth value for `if`, an integer for
`range`, a hash for a dictionary. There the trail would end, so the conversion is refused and named with file
and line.

What runs for every value of every event is kept from run-time type checks, which would take most of the time.
"""

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Protocol, no_type_check, runtime_checkable

from quantascope.program.place import place_in_program
from quantascope.program.state import State
from quantascope.program.violations import EscapedValue, ProgramError

Reading = Callable[[State], Any]
"""How a value that was computed from the input directly, outside any quantum, is computed from another state."""


@runtime_checkable
class Observer(Protocol):
    """Whoever follows the values of one program."""

    def names(self, producers: int) -> str:
        """The quanta behind bits, for people."""
        ...

    def recipe(self, function: Callable[..., Any], operands: Iterable[Any]) -> int:
        """How the result of a function is computed, as a number."""
        ...

    def note_rounds(self, place: Any, rounds: int) -> None:
        """A tuple was iterated over at a place of the program."""
        ...

    def refuse(self, complaint: ProgramError) -> NoReturn:
        """Raise a complaint, and remember it should the program catch it."""
        ...


@no_type_check
class Traced:
    """A value, the quanta that it was computed from as bits, its recipe, and its reading if the input enters it
    directly.
    """

    __slots__ = ("_observer", "_producers", "_reading", "_recipe", "_value")

    def __init__(
        self, value: Any, producers: int, recipe: int, reading: Reading | None, observer: "Observer"
    ) -> None:
        self._value, self._producers, self._recipe = value, producers, recipe
        self._reading, self._observer = reading, observer

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class of the value, so that isinstance() and run-time type checkers see what they expect."""
        return type(self._value)

    def __repr__(self) -> str:
        return f"Traced({self._value!r} from {self._observer.names(self._producers) or 'the input'})"

    def __getattr__(self, name: str) -> "Traced":
        if name.startswith("__"):
            raise AttributeError(name)
        if self._reading is _itself:
            recipe = self._observer.recipe(getattr, (self, name))
            return Traced(getattr(self._value, name), 0, recipe, operator.attrgetter(name), self._observer)
        return lift(getattr, self, name)

    def __call__(self, *arguments: Any, **named: Any) -> "Traced":
        return lift(_call, self, arguments, named)

    def __getitem__(self, index: Any) -> "Traced":
        return lift(operator.getitem, self, index)

    def __iter__(self) -> Any:
        if not isinstance(self._value, tuple):
            _escape(self, "decides how often a loop runs", "loop inside a quantum, or let it return a tuple")
        caller = sys._getframe(1)
        self._observer.note_rounds((caller.f_code, caller.f_lasti), len(self._value))
        return (self[index] for index in range(len(self._value)))

    def __bool__(self) -> NoReturn:
        _escape(self, "decides a branch outside `when`", "write `with when(value, case) as active: if active: …`")

    def __int__(self) -> NoReturn:
        _escape(self, "is made a plain int", "compute with it as it is, or inside a quantum")

    def __index__(self) -> NoReturn:
        _escape(
            self, "is made a plain index", "look it up inside a quantum, or with lift(table.__getitem__, value)"
        )

    def __float__(self) -> NoReturn:
        _escape(self, "is made a plain float", "compute with it as it is, or inside a quantum")

    def __hash__(self) -> NoReturn:
        _escape(self, "is made a plain key", "look it up inside a quantum, or with lift(table.get, value)")

    def __len__(self) -> NoReturn:
        _escape(self, "is measured by len()", "write lift(len, value)")

    def __contains__(self, item: Any) -> NoReturn:
        _escape(
            self, "is searched with `in`, which gives a plain bool", "write lift(operator.contains, value, item)"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _escape(self, "is copied", "use it as it is; no quantum can change it")

    def __str__(self) -> NoReturn:
        _escape(self, "is made a plain string", "write lift(str, value), or repr(value) to look at it")

    def __format__(self, specification: str) -> NoReturn:
        _escape(self, "is made a plain string", "write lift(format, value), or repr(value) to look at it")


@no_type_check
def lift(function: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a function that needs plain values, and keep the trail: `lift(max, a, b)`.

    Without traced arguments it is a plain call.

    >>> lift(max, 2, 3)
    3
    """
    plain, producers, readings, observer = opened_all(arguments)
    value = function(*plain)
    if observer is None:
        return value
    united = 0
    for bits in producers:
        united |= bits
    recipe = observer.recipe(function, arguments)
    return Traced(value, united, recipe, joint_reading(function, plain, readings), observer)


Readings = list[Reading | None]
OpenedAll = tuple[list[Any], list[int], Readings | None, Observer | None]


@no_type_check
def opened_all(arguments: Iterable[Any]) -> OpenedAll:
    """The plain values of arguments, their producers, and readings and the observer if any has one."""
    plain, producers, readings = [], [], []
    reads, observer = False, None
    for argument in arguments:
        if type(argument) is Traced:
            value, bits, reading, observer = (
                argument._value, argument._producers, argument._reading, argument._observer,
            )  # fmt: skip
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

    Tuples, lists, dictionaries, slices and dataclasses are looked through.
    """
    if isinstance(argument, (tuple, list)):
        make = argument._make if hasattr(argument, "_make") else type(argument)  # pyright: ignore
        return _rebuilt(argument, argument, lambda *parts: make(parts))
    if isinstance(argument, dict):
        return _rebuilt(argument, argument.values(), lambda *parts: dict(zip(argument, parts, strict=True)))
    if isinstance(argument, slice):
        return _rebuilt(argument, (argument.start, argument.stop, argument.step), slice)
    if hasattr(argument, "__dataclass_fields__") and not isinstance(argument, type):
        names = [field.name for field in dataclasses.fields(argument) if field.init]
        parts = [getattr(argument, name) for name in names]
        return _rebuilt(
            argument, parts, lambda *parts: dataclasses.replace(argument, **dict(zip(names, parts, strict=True)))
        )
    return argument, 0, None, None


@no_type_check
def _rebuilt(
    whole: Any, parts: Iterable[Any], build: Callable[..., Any]
) -> tuple[Any, int, Reading | None, Observer | None]:
    plain, producers, readings, observer = opened_all(parts)
    if observer is None:
        return whole, 0, None, None
    united = 0
    for bits in producers:
        united |= bits
    return build(*plain), united, joint_reading(build, plain, readings), observer


@no_type_check
def joint_reading(function: Callable[..., Any], plain: list[Any], readings: Readings | None) -> Reading | None:
    """The reading of a function's result; what does not come from the input directly enters it as a constant."""
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


def traced_state(state: State, observer: Observer) -> Traced:
    """The input of a program: traced, made by no quantum, read as it is."""
    return Traced(state, 0, observer.recipe(_itself, ()), _itself, observer)


def _escape(traced: Traced, what: str, remedy: str) -> NoReturn:
    producers = traced._observer.names(traced._producers)
    whose = f"of {producers}" if producers else "of the input"
    traced._observer.refuse(EscapedValue(f"a value {whose} {what} at {place_in_program()}", remedy))


def _itself(state: State) -> State:
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
