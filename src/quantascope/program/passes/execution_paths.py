"""A guard decides inside its block only.

What a program does next, and with which values, is fixed by what it did before and by the guards that are open: a
closed guard leaves no trace. Otherwise something was chosen under it, such as `x = 1`, that shows after it has
closed, and the dependency on the guard would be lost. Where a block or the program ends is fixed in the same way:
a block may be left by `return`, but then always at that point.
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
    """What follows at some point of a program, and the smallest state on which it was seen."""

    action: Action
    state: State


@no_type_check
class ExecutionPaths:
    """The execution paths that were seen, as one tree in which a closed guard leaves no trace."""

    def __init__(self, program: Program, recipes: Recipes) -> None:
        self._program, self.recipes = program, recipes
        self._known: set[ExecutionPath] = set()
        self._points: dict[tuple[int, Any], int] = {}
        self._following: dict[int, _Step] = {}

    def add(self, path: ExecutionPath, state: State) -> None:
        """Compare a path with all before it."""
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
            what = f"a guard{self._line(path, place, state)} compares something else than on {step.state}"
        elif kind == other:
            what = self._argument(kind, given, others, self._line(path, place, state), step.state)
        else:
            line = self._line(path, place, state)
            what = f"goes on with {self._name(kind)}{line}, and with {self._name(other)} on {step.state}"
        return EscapedChoice(
            f"{what}, by a choice that no open guard shows",
            "use what is chosen under a guard inside its `with when(…)` block, or let a quantum choose",
            quantum=self._name(kind) if kind >= 0 else None,
            state=state,
        )

    def _line(self, path: ExecutionPath, place: int, state: State) -> str:
        """Where the action at a place of a path is, if it has a line."""
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
    """How far a path goes until nothing follows but the blocks that it leaves."""
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
    """For each quantum, as bits, the quanta behind guards that let it run by not returning before it.

    Inside such a guard some path ends, so that what comes after it runs only where it does not. By the rule of the
    language this is no edge: a guard that does not hold leaves none.
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
