"""Checks that a guard decides only inside its block.

What a program does next, and with which values, must be determined by what it did before and by the open guards: a
closed guard leaves no trace. If not, something chosen under a guard, such as `x = 1`, has an effect after the
guard has closed, and the dependency on the guard would be lost. The same holds for where a block or the program
ends: a block may be left by `return`, but then always at that point.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple, no_type_check

from quantascope.program.recipes import Recipes
from quantascope.program.registry import Program
from quantascope.program.state import State
from quantascope.program.tracer import ENDS, GUARD, LEAVES, OUTCOMES, Action, ExecutionPath, Tracer
from quantascope.program.violations import EscapedChoice


class _Step(NamedTuple):
    """What follows at a point of a program, and the smallest state on which it was seen."""

    action: Action
    state: State


@no_type_check
class ExecutionPaths:
    """The observed execution paths as a tree in which a closed guard leaves no trace."""

    def __init__(self, program: Program, recipes: Recipes) -> None:
        self._program, self.recipes = program, recipes
        self._known: set[ExecutionPath] = set()
        self._points: dict[tuple[int, Any], int] = {}
        self._following: dict[int, _Step] = {}

    def add(self, path: ExecutionPath, state: State) -> None:
        """Compare a path with all earlier ones."""
        if path in self._known:
            return
        point, blocks = 0, []
        for place, action in enumerate((*path[: length(path)], ENDS)):
            if action in OUTCOMES:
                point = self._point(blocks[-1], action)
                continue
            step = self._following.setdefault(point, _Step(action, state))
            if step.action != action:
                raise self._complaint(path, place, action, step, state)
            point = self._point(blocks.pop() if action is LEAVES else point, action is LEAVES)
            if action[0] == GUARD:
                blocks.append(point)
        self._known.add(path)

    def _point(self, before: int, how: Any) -> int:
        return self._points.setdefault((before, how), len(self._points) + 1)

    def _complaint(
        self, path: ExecutionPath, place: int, action: Action, step: _Step, state: State
    ) -> EscapedChoice:
        (kind, given, _), (other, others, _) = action, step.action
        if kind == other == GUARD:
            what = f"a guard{self._line(path, place, state)} compares another value than on {step.state}"
        elif kind == other:
            what = self._argument(kind, given, others, self._line(path, place, state), step.state)
        else:
            line = self._line(path, place, state)
            what = f"continues with {self._name(kind)}{line}, but with {self._name(other)} on {step.state}"
        return EscapedChoice(
            f"{what}; this choice is not made by an open guard",
            "use a value chosen under a guard only inside its `with when(…)` block, or choose it in a quantum",
            quantum=self._name(kind) if kind >= 0 else None,
            state=state,
        )

    def _line(self, path: ExecutionPath, place: int, state: State) -> str:
        """The source line of an action of a path, if it has one."""
        if place == length(path) or path[place] == LEAVES:
            return ""
        tracer = Tracer(self._program, Recipes(), placing=True)
        tracer.run(state)
        return f" at {tracer.places[sum(action[0] >= GUARD for action in path[:place])]}"

    def _argument(self, quantum: int, given: Iterable[int], others: Iterable[int], line: str, state: State) -> str:
        names = self._program.registry.quanta[quantum].parameters.names
        pairs = enumerate(zip(given, others, strict=False))
        place, pair = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
        name = names[place] if place < len(names) else str(place)
        one, other = map(self.recipes.constant, pair)
        unknown = self.recipes.kept_by_identity(pair[0])
        if unknown is not None:
            return f"is given a {unknown} as '{name}'{line}, another one than on {state}"
        if one is None or other is None:
            return f"is given '{name}'{line} computed otherwise than on {state}"
        return f"is given {name}={one}{line}, and {name}={other} on {state}"

    def _name(self, kind: int) -> str:
        named = {GUARD: "a guard", LEAVES[0]: "the end of a block", ENDS[0]: "nothing more"}
        return named.get(kind) or self._program.registry.names[kind]


def length(path: ExecutionPath) -> int:
    """Length of a path without the ends of blocks at its end."""
    return len(path) - sum(1 for _ in takewhile(LEAVES.__eq__, reversed(path)))


def check_execution_paths(
    program: Program, recipes: Recipes, paths: Mapping[ExecutionPath, State]
) -> ExecutionPaths:
    """The execution paths of the audit domain, smallest input first."""
    seen = ExecutionPaths(program, recipes)
    for path, state in paths.items():
        seen.add(path, state)
    return seen


def passed_guards(paths: Iterable[ExecutionPath], quanta: int) -> tuple[int, ...]:
    """For each quantum, as bits, the quanta whose guards let it run by not returning before it.

    Some path ends inside such a guard, so the code after it runs only if the guard does not hold. By the rules of
    the language this is not an edge: a guard that does not hold leaves none.
    """
    paths = list(paths)
    final = {action for path in paths for action in _open_at_the_end(path)}
    passed = [0] * quanta
    for path in paths:
        bits = 0
        for action in path:
            if action[0] == GUARD:
                bits |= action[2] if action in final else 0
            elif action[0] >= 0:
                passed[action[0]] |= bits
    return tuple(passed)


def _open_at_the_end(path: ExecutionPath) -> Iterator[Action]:
    """The guards in whose block a path ends."""
    opened = []
    for action in path[: length(path)]:
        if action[0] == GUARD:
            opened.append(action)
        elif action == LEAVES:
            opened.pop()
    return iter(opened)
