"""`ExecutionCache`: executions stored by what the program read from its input.

The output of a quantum that does not read the input is determined by its parents, and guards depend only on
quanta. The outputs of the quanta that read the input therefore determine everything else: the executions form a
tree that branches on these readings. An event walks down the tree and computes only the readings. When it leaves
the tree, it is executed in full, checked against the frozen graph, and added. Readings are compared by content and
type, not only by `==`, so that outputs that are equal but not identical are noticed.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple, no_type_check

from quantascope.program.passes.cardinality import Outcomes, mixed, too_many
from quantascope.program.passes.connection import check_connection
from quantascope.program.passes.emission import emission
from quantascope.program.passes.execute import Activation
from quantascope.program.passes.execution_paths import ExecutionPaths
from quantascope.program.passes.signatures import Signatures, of_bits
from quantascope.program.recipes import Recipes
from quantascope.program.registry import Program
from quantascope.program.state import State
from quantascope.program.traced import Reading
from quantascope.program.tracer import Execution, Signature, Tracer
from quantascope.program.violations import NotDeterministic, UnseenDependency, UnstableParents
from quantascope.quanta.graph import QGraph

_EXACT = (int, str, bool, bytes, type(None))
_EQUALITY = tuple(kind.__eq__ for kind in (object, int, str))
"""The equalities under which members of an enum are equal only to themselves."""


class _Branch(NamedTuple):
    """The next reading, and for each of its values the next branch or the row of an execution."""

    read: Reading
    following: dict[Any, "_Branch | int"]


class Row(NamedTuple):
    """A distinct execution: the outcome of each quantum by number (−1 if inactive), its emitter and token."""

    outcome: tuple[int, ...]
    emitter: int
    token: str


@no_type_check
class ExecutionCache:
    """Runs a compiled program on any state and stores distinct executions as rows."""

    def __init__(
        self, program: Program, graph: QGraph, signatures: Signatures, paths: Iterable[State], outcomes: Outcomes
    ) -> None:
        self.program, self.graph = program, graph
        self.rows: list[Row] = []
        self.codes: tuple[dict[Any, int], ...] = tuple(
            {value: code for code, value in enumerate(values)} for values in outcomes
        )
        self._kept = [list(values) for values in outcomes]
        self._quanta, self._signatures = program.registry.quanta, signatures
        self._recipe = Recipes().of
        self._exact: set[type] = set(_EXACT)
        self._tuples: set[type] = {tuple}
        recipes = Recipes()
        self._tracer, self._paths = Tracer(program, recipes), ExecutionPaths(program, recipes)
        for state in paths:
            self._paths.add(self._tracer.run(state).path, state)
        self._root: dict[Any, _Branch | int] = {}
        self._activations: set[Activation] = set()

    def row(self, state: State) -> int:
        """The row of the execution on a state."""
        node: Any = self._root.get(None)
        try:
            while type(node) is _Branch:
                node = node.following.get(self._content(node.read(state)))
        except BaseException:
            node = None  # the full run below raises the same exception with its location
        return self._add(state) if node is None else node

    def _add(self, state: State) -> int:
        execution = self._tracer.run(state)
        emitter, token = emission(self.program, execution)
        self._check(Activation(execution.shape, emitter), state)
        self._paths.add(execution.path, state)
        row = Row(self._encoded(execution), emitter, token)
        self.rows.append(row)
        self._remember(execution, len(self.rows) - 1)
        return len(self.rows) - 1

    def _check(self, activation: Activation, state: State) -> None:
        if activation in self._activations:
            return
        names = self.graph.names
        for quantum, signature in activation.shape:
            if signature != self._signatures[quantum]:
                self._complain(quantum, signature, state)
        check_connection(names, {activation: state})
        self._activations.add(activation)

    def _complain(self, quantum: int, signature: Signature, state: State) -> None:
        names, known = self.graph.names, self._signatures[quantum]
        unseen = of_bits(names, signature.parents & ~known.parents)
        if unseen:
            raise UnseenDependency(
                f"the edge {unseen[0]} -> {names[quantum]} was not seen in the audit domain",
                "add this input to `audit` of the entry and compile again",
                quantum=names[quantum],
                state=state,
            )
        lacking = of_bits(names, known.parents & ~signature.parents)
        raise UnstableParents(
            f"runs without its parent {lacking[0]}" if lacking else "gets its parents through other arguments",
            "add this input to `audit` of the entry and compile again",
            quantum=names[quantum],
            state=state,
        )

    def _encoded(self, execution: Execution) -> tuple[int, ...]:
        outcome = [-1] * len(self.codes)
        for (quantum, _), value in zip(execution.shape, execution.values, strict=True):
            codes, kept, declared = self.codes[quantum], self._kept[quantum], self._quanta[quantum]
            code = codes.get(value)
            if code is None:
                if len(codes) == declared.output_cardinality:
                    raise too_many(declared, value, execution.state)
                code = codes[value] = len(codes)
                kept.append(value)
            elif not self._is_identical(value, kept[code]):
                raise mixed(declared, value, kept[code], execution.state)
            outcome[quantum] = code
        return tuple(outcome)

    def _is_identical(self, value: Any, kept: Any) -> bool:
        """Whether values that are equal also have the same type and content."""
        return value is kept or self._content(value) == self._content(kept)

    def _content(self, value: Any) -> tuple[Any, ...]:
        """The type and content of a value, as a key: equal keys mean identical values."""
        kind = type(value)
        if kind in self._exact:
            return kind, value
        if kind in self._tuples:
            kinds = tuple(map(type, value))
            if self._exact.issuperset(kinds) or all(map(self._is_exact, kinds)):
                return kind, kinds, tuple(value)
        elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
            self._tuples.add(kind)
            return self._content(value)
        elif self._is_exact(kind):
            return kind, value
        return kind, self._recipe(value)

    def _is_exact(self, kind: type) -> bool:
        """Whether equal values of a type are identical: plain types and enums with an ordinary equality."""
        if issubclass(kind, Enum) and kind.__eq__ in _EQUALITY:
            self._exact.add(kind)
        return kind in self._exact

    def _remember(self, execution: Execution, row: int) -> None:
        following, key = self._root, None
        for reading, value in zip(execution.readings, execution.values, strict=True):
            if reading is not None:
                branch = following.setdefault(key, _Branch(reading, {}))
                if type(branch) is not _Branch:
                    raise NotDeterministic(
                        "continues where it ended before, although the quanta read the same from the input",
                        "remove randomness and state shared between quanta",
                        state=execution.state,
                    )
                following, key = branch.following, self._content(value)
        following[key] = row
