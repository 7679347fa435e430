"""`Tracer`: runs a program on traced values and records what each quantum depended on."""

import traceback
from typing import Any, NamedTuple, NoReturn, no_type_check

from quantascope.program.answers import Answers
from quantascope.program.place import is_of_program, place_in_program, place_of
from quantascope.program.recipes import Recipes
from quantascope.program.registry import CURRENT, Program, Quantum
from quantascope.program.state import State, shown
from quantascope.program.traced import (
    Reading,
    Traced,
    itself,
    joint_reading,
    opened_all,
    refuse_use,
    traced_state,
)
from quantascope.program.violations import (
    ChangedArgument,
    CrossedGuards,
    EscapedValue,
    InvalidRegistry,
    NestedQuantum,
    ProgramError,
    ProgramRaised,
    RepeatedQuantum,
    UntracedGuard,
    uncheckable,
)
from quantascope.runs.errors import described, message_of


@no_type_check
class Signature(NamedTuple):
    """The dependencies of one call of a quantum as bits: producers of each argument and of open guards."""

    data: tuple[int, ...]
    control: int

    @property
    def parents(self) -> int:
        """All of them."""
        bits = self.control
        for producers in self.data:
            bits |= producers
        return bits


Shape = tuple[tuple[int, Signature], ...]
"""The quanta that ran, in order, each with its signature: an execution without its values."""


Action = tuple[int, tuple[int, ...], int]
"""A quantum and the recipes of its arguments; GUARD, the recipes of value and case, and producers; or a mark."""

ExecutionPath = tuple[Action, ...]
"""Quanta and guards in order, with the outcomes of guards: an execution as recipes, without its values."""

GUARD = -1
HOLDS, FAILS, LEAVES, ENDS = (-2, (), 0), (-3, (), 0), (-4, (), 0), (-5, (), 0)
OUTCOMES = (HOLDS, FAILS)


class Execution(NamedTuple):
    """One event: the quanta that ran, their outputs, and the returned token.

    `readings` holds, for each quantum that read the input directly, how to compute its output from another state.
    """

    state: State
    shape: Shape
    path: ExecutionPath
    values: tuple[Any, ...]
    result: Any
    readings: tuple[Reading | None, ...]


@no_type_check
class Tracer:
    """Runs and observes a program, one event at a time; optionally, `places` records the line of each action."""

    def __init__(self, program: Program, recipes: Recipes, *, placing: bool = False) -> None:
        self._program, self._recipes, self._placing = program, recipes, placing
        self.recipe = recipes.applied
        self._input = recipes.applied(itself, ())
        self._lengths: dict[int, tuple[int, State]] = {}
        self._signatures: dict[Signature, Signature] = {}
        self.answers = Answers(recipes)
        self._begin(State(None))

    def _begin(self, state: State) -> None:
        self._state = state
        self._calls: list[tuple[int, Signature]] = []
        self._path: list[Action] = []
        self.places: list[str] = []
        self._values: list[Any] = []
        self._readings: list[Reading | None] = []
        self._guards: list[tuple[Any, int]] = [(None, 0)]
        self._active = 0
        self._inside: Quantum | None = None
        self._failed: str | None = None
        self._complaint: ProgramError | None = None

    def run(self, state: State) -> Execution:
        """Run the program on one state and return the observed event."""
        self._begin(state)
        before = CURRENT.set(self)
        try:
            result = self._program.entry(traced_state(state, self._input, self))  # pyright: ignore[reportArgumentType]
            if len(self._guards) > 1:
                self.refuse(_crossed("a guard is still open when the entry returns"))
        except ProgramError as error:
            raise error.on(state) from None
        except BaseException as error:
            raise raised(error, state, self._failed) from error
        finally:
            CURRENT.reset(before)
        if self._complaint is not None:
            raise self._complaint.on(state)
        shape, path = tuple(self._calls), tuple(self._path)
        return Execution(state, shape, path, tuple(self._values), result, tuple(self._readings))

    def call(self, quantum: Quantum, values: tuple[Any, ...]) -> Traced:
        """Run a quantum: its body gets plain values, its output carries its identity."""
        bit = 1 << quantum.index
        self._check_call(quantum, bit)
        plain, producers, readings, _ = opened_all(values)
        self._act(quantum.index, values, 0)
        value = self._answer(quantum, plain)
        signature = Signature(tuple(producers), self._guards[-1][1])
        self._calls.append((quantum.index, self._signatures.setdefault(signature, signature)))
        self._values.append(value)
        self._readings.append(joint_reading(quantum.parameters.body, plain, readings))
        self._active |= bit
        return Traced(value, bit, -1 - quantum.index, None, self)

    def enter(self, guard: Any, value: Any, case: Any) -> bool:
        """Open a guard; until it closes, every quantum that runs has a control dependency on its producers."""
        plain, producers, readings, _ = opened_all((value, case))
        if not producers[0]:
            self.refuse(_untraced(value, "does not come from a quantum"))
        if readings is not None:
            self.refuse(_untraced(value, "combines quanta with the input outside any quantum"))
        if any(guard is other for other, _ in self._guards):
            self.refuse(_crossed("a guard opens again before it has closed"))
        bits = producers[0] | producers[1]
        self._guards.append((guard, self._guards[-1][1] | bits))
        self._act(GUARD, (value, case), bits)
        holds = bool(plain[0] == plain[1])
        self._path.append(HOLDS if holds else FAILS)
        return holds

    def leave(self, guard: Any) -> None:
        """Close the innermost guard."""
        if self._guards[-1][0] is not guard:
            self.refuse(_crossed("a guard closes that is not the innermost open one"))
        self._guards.pop()
        self._path.append(LEAVES)

    def checked_call(self, function: Any, given: tuple[Any, ...], plain: list[Any]) -> tuple[Any, int]:
        """The result of a lifted function and its recipe; raises if the function changes its arguments."""
        before = self._recipes.looked_inside
        recipe = self._recipes.applied(function, given)
        value = function(*plain)
        if self._recipes.looked_inside != before and self._recipes.applied(function, given) != recipe:
            self.refuse(
                EscapedValue(
                    f"lift at {place_in_program()} applies {shown(function)}, which changes its arguments "
                    "or its own state",
                    "lift a function that returns a new value, and use that value",
                )
            )
        if type(value) is Traced:
            refuse_use(value, "is used in a lifted function without being its argument", "pass it as an argument")
        return value, recipe

    def names(self, producers: int) -> str:
        """The names of the quanta behind bits, as readable text."""
        names = self._program.registry.names
        return ", ".join(name for index, name in enumerate(names) if producers >> index & 1)

    def note_length(self, recipe: int, length: int) -> None:
        """Allow unpacking, but refuse a loop whose length depends on a value: that is a branch."""
        before, state = self._lengths.setdefault(recipe, (length, self._state))
        if before != length:
            self.refuse(
                EscapedValue(
                    f"a tuple that is unpacked or looped over at {place_in_program()} has {length} parts, but "
                    f"{before} on {state}",
                    "move a loop whose length depends on a value into a quantum",
                )
            )

    def refuse(self, complaint: ProgramError) -> NoReturn:
        """Raise an error, and record it in case the program catches it."""
        self._complaint = self._complaint or complaint
        raise complaint

    def _act(self, action: int, values: tuple[Any, ...], bits: int) -> None:
        of = self._recipes.of
        self._path.append((action, tuple([v.traced_recipe if type(v) is Traced else of(v) for v in values]), bits))
        if self._placing:
            self.places.append(place_in_program())

    def _check_call(self, quantum: Quantum, bit: int) -> None:
        if self._inside is not None:
            self.refuse(
                NestedQuantum(
                    f"is called inside {self._inside.name} at {place_in_program()}, where it is not traced",
                    "call it in the entry and pass its value, or call a plain function",
                    quantum=quantum.name,
                )
            )
        if quantum.registry is not self._program.registry:
            self.refuse(
                InvalidRegistry(
                    f"called at {place_in_program()} belongs to another registry",
                    "declare it in the registry of the entry",
                    quantum=quantum.name,
                )
            )
        if self._active & bit:
            self.refuse(
                RepeatedQuantum(
                    f"runs a second time in one event at {place_in_program()}",
                    "reuse its value, or declare a second quantum for the second use",
                    quantum=quantum.name,
                )
            )

    def _check_readable(self, quantum: Quantum, arguments: list[Any]) -> None:
        """Refuse an argument whose content cannot be read: a change of it would not be noticed."""
        for place, argument in enumerate(arguments):
            unread = self._recipes.unreadable(self._recipes.of(argument))
            if unread is not None:
                names = quantum.parameters.names
                name = names[place] if place < len(names) else str(place)
                self.refuse(uncheckable(f"as '{name}' a {unread}, whose content cannot be read", quantum.name))

    def _answer(self, quantum: Quantum, arguments: list[Any]) -> Any:
        """The output of a quantum's body, which must depend only on its arguments."""
        self._inside = quantum
        held = self.answers.changeable(arguments)
        if self._recipes.has_unread and held:
            self._check_readable(quantum, arguments)
        try:
            value = quantum.parameters.body(*arguments)
        except ProgramError:
            raise
        except BaseException:
            self._failed = quantum.name
            raise
        finally:
            self._inside = None
        if type(value) is Traced:
            self.refuse(
                EscapedValue(
                    "returns a traced value that it did not get as an argument",
                    "pass that value as an argument",
                    quantum=quantum.name,
                )
            )
        if held and held != self.answers.changeable(arguments):
            self.refuse(
                ChangedArgument(
                    "changes its arguments, which other quanta would see",
                    "work on a copy, and return the result",
                    quantum=quantum.name,
                )
            )
        complaint = self.answers.add(quantum, arguments, bool(held), value, self._state)
        if complaint is not None:
            self.refuse(complaint)
        return value


def raised(error: BaseException, state: State, quantum: str | None) -> ProgramRaised:
    """The error for an exception of the program, with the line that raised it."""
    complaint = message_of(error)
    traced = quantum is None and (Traced.__name__ in complaint or _meets_traced(error))
    return ProgramRaised(
        f"raises {described(error, f' at {place_of(error)}')}",
        "write lift(function, value) for a function that needs a plain value, or move it into a quantum"
        if traced
        else "fix it, or leave this input out of the audit domain",
        quantum=quantum,
        state=state,
    )


def _meets_traced(error: BaseException) -> bool:
    """Whether an error comes from a library function that was given a traced value."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = max((place for place, frame in enumerate(frames) if is_of_program(frame)), default=len(frames))
    return any(type(value) is Traced for frame in frames[last + 1 :] for value in frame.f_locals.values())


def _crossed(what: str) -> CrossedGuards:
    return CrossedGuards(
        f"{what} at {place_in_program()}", "open every guard with `with when(…)`, properly nested"
    )


def _untraced(value: Any, what: str) -> UntracedGuard:
    return UntracedGuard(
        f"the guard on {shown(value)} at {place_in_program()} {what}",
        "let a quantum make the decision and guard on its output",
    )
