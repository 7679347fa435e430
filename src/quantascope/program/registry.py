"""`Registry`: where a program declares its quanta and its entry.

Outside the compiler a quantum is the plain function that it decorates and `when` a plain comparison, so a
program can be run, debugged and tested like any other.
"""

import inspect
import itertools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, Protocol, no_type_check, runtime_checkable

from quantascope.program.parameters import Parameters
from quantascope.program.place import place_in_program
from quantascope.program.state import State, shown
from quantascope.program.violations import InvalidEntry, InvalidRegistry, ProgramError, no_end, unknown_token


@runtime_checkable
class Run(Protocol):
    """Protocol of a program run that observes its quanta and guards."""

    def call(self, quantum: "Quantum", values: tuple[Any, ...]) -> Any:
        """Called when a quantum is called, with one value for each parameter."""
        ...

    def enter(self, guard: Any, value: Any, case: Any) -> bool:
        """Called when a guard opens; returns whether its case holds."""
        ...

    def leave(self, guard: Any) -> None:
        """Called when a guard closes."""
        ...

    def refuse(self, complaint: ProgramError) -> NoReturn:
        """Raise an error, and record it in case the program catches it."""
        ...


Entry = Callable[[State], str | None]
"""A function that returns the next token for a state, or None after all cases were handled."""

MOST_INPUTS = 1_000_000
"""Largest number of audit inputs; this also stops endless iterables."""

CURRENT: ContextVar[Run | None] = ContextVar("the program run that is being observed", default=None)


@no_type_check
@dataclass(frozen=True, eq=False)
class Quantum:
    """A subroutine with a stable identity; call it like the function that it decorates."""

    name: str
    output_cardinality: int
    function: Callable[..., Any]
    index: int
    registry: "Registry" = field(repr=False)
    parameters: Parameters = field(repr=False)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        run = CURRENT.get()
        if run is None:
            return self.function(*arguments, **named)
        try:
            values = self.parameters.values(arguments, named)
        except TypeError as error:
            raise TypeError(f"quantum {self.name}: {error}") from None
        return run.call(self, values)

    def __get__(self, instance: Any, owner: Any) -> "Quantum":
        if instance is None:
            return self
        raise InvalidRegistry(
            f"is called as a method of {type(instance).__name__} at {place_in_program()}",
            "declare it as a function, outside any class",
            quantum=self.name,
        )


@no_type_check
@dataclass(frozen=True, eq=False)
class Program:
    """An entry, the inputs on which the compiler audits it, and the tokens it may write.

    Calling it calls the entry.
    """

    entry: Entry
    registry: "Registry" = field(repr=False)
    audit: tuple[Any, ...] = field(repr=False)
    vocabulary: tuple[str, ...] = field(repr=False)
    end: str
    longest: int

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The vocabulary as a set."""
        return frozenset(self.vocabulary)

    @property
    def name(self) -> str:
        """The name of the entry."""
        return getattr(self.entry, "__name__", repr(self.entry))

    def __call__(self, state: State) -> str | None:
        return self.entry(state)

    def write(self, source: Any) -> tuple[str, ...]:
        """All tokens that the plain program writes for an input, including the end token."""
        state = State(source)
        while not state.written or state.written[-1] != self.end:
            if state.position == self.longest:
                raise no_end(state, self.end)
            token = self.entry(state)
            if not isinstance(token, str) or token not in self.tokens:
                raise unknown_token(token, state)
            state = state.then(token)
        return state.written


class Registry:
    """The quanta of one program, in order of declaration.

    >>> registry = Registry()
    >>> @registry.quantum("PARITY", output_cardinality=2)
    ... def parity(number):
    ...     return number % 2
    >>> parity(7), registry.names
    (1, ('PARITY',))
    """

    def __init__(self) -> None:
        self._quanta: list[Quantum] = []

    @property
    def quanta(self) -> tuple[Quantum, ...]:
        """The declared quanta."""
        return tuple(self._quanta)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(quantum.name for quantum in self._quanta)

    def quantum(self, name: str, *, output_cardinality: int) -> Callable[[Callable[..., Any]], Quantum]:
        """Declare the decorated function as a quantum with at most `output_cardinality` distinct outputs."""
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InvalidRegistry(f"a quantum is named {shown(name)}", "give it a name of letters")
        if name in self.names:
            raise InvalidRegistry("is declared twice", "give each quantum its own name", quantum=name)
        if (
            isinstance(output_cardinality, bool)
            or not isinstance(output_cardinality, int)
            or output_cardinality < 1
        ):
            raise InvalidRegistry(
                f"declares output_cardinality={output_cardinality!r}",
                "give an integer of at least 1",
                quantum=name,
            )

        def declare(function: Callable[..., Any]) -> Quantum:
            if not callable(function) or inspect.isgeneratorfunction(function) or _is_async(function):
                raise InvalidRegistry(
                    f"is {function!r}, which does not return a value when it is called",
                    "decorate a function that returns one",
                    quantum=name,
                )
            declared = Quantum(name, output_cardinality, function, len(self._quanta), self, Parameters(function))
            self._quanta.append(declared)
            return declared

        return declare

    def entry(
        self, *, audit: Iterable[Any], vocabulary: Iterable[str], end: str, longest: int = 100
    ) -> Callable[[Entry], Program]:
        """Declare the decorated function as a program: it takes a `State` and returns the next token.

        The compiler runs it on every input of `audit` until it writes `end`, at most `longest` tokens.
        """

        def declare(function: Entry) -> Program:
            if not callable(function):
                raise InvalidEntry(f"the entry is {function!r}", "decorate a function that takes a State")
            inputs = tuple(itertools.islice(audit, MOST_INPUTS + 1))
            if len(inputs) > MOST_INPUTS:
                raise InvalidEntry(
                    f"the audit domain has more than {MOST_INPUTS:,} inputs",
                    "audit a few thousand inputs of every kind",
                )
            return Program(function, self, inputs, tuple(vocabulary), end, longest)

        return declare


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
