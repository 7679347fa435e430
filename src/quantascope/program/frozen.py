"""`CompiledProgram`: a frozen Q-graph, and the trace of any domain against it."""

import hashlib
import marshal
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from quantascope.program.execution_cache import ExecutionCache
from quantascope.program.passes.cardinality import Outcomes
from quantascope.program.passes.effects import Effect
from quantascope.program.passes.signatures import Signatures
from quantascope.program.registry import Program
from quantascope.program.state import State
from quantascope.program.trace import ProgramTrace, trace_inputs
from quantascope.quanta.graph import QGraph

_REMEMBERED_TRACES, _REMEMBERED_EVENTS = 8, 500_000


@dataclass(frozen=True, eq=False)
class CompiledProgram:
    """A program whose dependencies are known: direct ones in `graph`, all in `dependencies`.

    `execution_paths` are the smallest states that show each execution path, `outcomes` the outputs seen in the
    audit domain, `effects` a witness that each quantum matters, and `audited` the number of audited events.
    """

    program: Program
    graph: QGraph
    dependencies: QGraph = field(repr=False)
    passed: tuple[int, ...] = field(repr=False)
    signatures: Signatures = field(repr=False)
    execution_paths: tuple[State, ...] = field(repr=False)
    outcomes: Outcomes = field(repr=False)
    effects: tuple[Effect, ...] = field(repr=False)
    audited: int

    @cached_property
    def _traces(self) -> dict[bytes, ProgramTrace]:
        """The latest traces, by their inputs."""
        return {}

    def trace(self, inputs: Iterable[Any]) -> ProgramTrace:
        """Trace every event of these inputs: active and eligible quanta, their outcomes, the emitter, the token.

        Raises an error that names the input and the edge if a dependency was not seen in the audit domain.
        """
        inputs = tuple(inputs)
        known = _digest(inputs)
        if known in self._traces:
            return self._traces[known]
        trace = trace_inputs(self.program, self.graph, self._cache, inputs)
        if known and len(trace) <= _REMEMBERED_EVENTS:
            if len(self._traces) == _REMEMBERED_TRACES:
                self._traces.pop(next(iter(self._traces)))
            self._traces[known] = trace
        return trace

    def _cache(self) -> ExecutionCache:
        return ExecutionCache(self.program, self.graph, self.signatures, self.execution_paths, self.outcomes)

    @property
    def passed_guards(self) -> tuple[tuple[str, str], ...]:
        """Pairs (D, Q) where Q runs only where a guard on D did not return before it, and D is no ancestor of Q.

        By the rule of the language a guard that does not hold leaves no edge, so they are not in the graph.
        """
        names = self.graph.names
        return tuple(
            (names[above], name)
            for quantum, name in enumerate(names)
            for above in range(len(names))
            if self.passed[quantum] >> above & 1 and above not in self.graph.ancestors(quantum)
        )

    def to_json(self) -> dict[str, object]:
        """Quanta by level with their cardinalities, direct edges, and the number of levels."""
        cardinality = {quantum.name: quantum.output_cardinality for quantum in self.program.registry.quanta}
        shown = self.graph.to_json()
        quanta: Any = shown["quanta"]
        return {
            **shown,
            "quanta": [{**quantum, "cardinality": cardinality[quantum["name"]]} for quantum in quanta],
        }


def _digest(inputs: tuple[Any, ...]) -> bytes:
    """A key that identifies inputs by value and type; None for inputs that are not plain values."""
    try:
        return hashlib.sha256(marshal.dumps(inputs, 2)).digest()
    except ValueError:
        return b""
