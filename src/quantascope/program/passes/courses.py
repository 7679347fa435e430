"""A guard decides inside its block only.

What a program does next, and with which values, is fixed by what it did before and by the guards that are open: a
closed guard leaves no trace. Otherwise something was chosen under it, such as `x = 1`, that shows after it has
closed, and the dependency on the guard would be lost. A block may of course be left by `return`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, no_type_check

from quantascope.program.recipes import Recipes
from quantascope.program.registry import Program
from quantascope.program.state import State
from quantascope.program.tracer import GUARD, LEAVES, MARKS, Action, Course, Tracer
from quantascope.program.violations import EscapedChoice


class _Step(NamedTuple):
    """What follows at some point of a program, and the smallest state on which it was seen."""

    action: Action
    state: State


@no_type_check
class Courses:
    """The courses of a program that were seen, as one tree in which a closed guard leaves no trace."""

    def __init__(self, program: Program, recipes: Recipes) -> None:
        self._program, self.recipes = program, recipes
        self._known: set[Course] = set()
        self._points: dict[tuple[int, Any], int] = {}
        self._following: dict[int, _Step] = {}

    def add(self, course: Course, state: State) -> None:
        """Compare a course with all before it."""
        if course in self._known:
            return
        point, blocks = 0, []
        for place, action in enumerate(course):
            if action[0] in MARKS:
                after = blocks.pop() if action is LEAVES else blocks[-1]
                point = self._point(after, action)
                continue
            step = self._following.setdefault(point, _Step(action, state))
            if step.action != action:
                raise self._complaint(course, place, step, state)
            point = self._point(point, None)
            if action[0] == GUARD:
                blocks.append(point)
        self._known.add(course)

    def _point(self, before: int, mark: Any) -> int:
        return self._points.setdefault((before, mark), len(self._points) + 1)

    def _complaint(self, course: Course, place: int, step: _Step, state: State) -> EscapedChoice:
        (quantum, given), (other, others) = course[place], step.action
        tracer = Tracer(self._program, Recipes(), placing=True)
        tracer.run(state)
        line = tracer.places[sum(action[0] not in MARKS for action in course[:place])]
        if quantum == other == GUARD:
            what = f"a guard at {line} compares something else than on {step.state}"
        elif quantum == other:
            what = self._argument(quantum, given, others, line, step.state)
        else:
            what = f"goes on with {self._name(quantum)} at {line}, and with {self._name(other)} on {step.state}"
        return EscapedChoice(
            f"{what}, by a choice that no open guard shows",
            "use what is chosen under a guard inside its `with when(…)` block, or let a quantum choose",
            quantum=None if quantum == GUARD else self._name(quantum),
            state=state,
        )

    def _argument(self, quantum: int, given: Iterable[int], others: Iterable[int], line: str, state: State) -> str:
        names = self._program.registry.quanta[quantum].parameters.names
        pairs = enumerate(zip(given, others, strict=False))
        place, pair = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
        name = names[place] if place < len(names) else str(place)
        one, other = map(self.recipes.constant, pair)
        if one is None or other is None:
            return f"is given '{name}' at {line} computed otherwise than on {state}"
        return f"is given {name}={one} at {line}, and {name}={other} on {state}"

    def _name(self, quantum: int) -> str:
        return "a guard" if quantum == GUARD else self._program.registry.names[quantum]


def check_courses(program: Program, recipes: Recipes, courses: Mapping[Course, State]) -> Courses:
    """The courses of the audit domain, smallest input first."""
    seen = Courses(program, recipes)
    for course, state in courses.items():
        seen.add(course, state)
    return seen
