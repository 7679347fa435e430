"""`CompiledProgram`: a frozen Q-graph, and the trace of any domain against it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from quantascope.program.passes.cardinality import Outcomes
from quantascope.program.passes.courses import Courses
from quantascope.program.passes.effects import Effect
from quantascope.program.passes.signatures import Signatures
from quantascope.program.registry import Program
from quantascope.program.replay import Replay
from quantascope.program.trace import ProgramTrace, trace_inputs
from quantascope.quanta.graph import QGraph


@dataclass(frozen=True, eq=False)
class CompiledProgram:
    """A program whose dependencies are known: direct ones in `graph`, all in `dependencies`.

    `outcomes` are the outputs seen in the audit domain, `effects` a witness that each quantum matters, and
    `audited` the number of events behind all this.
    """

    program: Program
    graph: QGraph
    dependencies: QGraph = field(repr=False)
    signatures: Signatures = field(repr=False)
    courses: Courses = field(repr=False)
    outcomes: Outcomes = field(repr=False)
    effects: tuple[Effect, ...] = field(repr=False)
    audited: int

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.program, self.graph, self.signatures, self.courses, self.outcomes)

    def trace(self, inputs: Iterable[Any]) -> ProgramTrace:
        """Every event of these inputs: active and eligible quanta, their outcomes, the emitter, the token.

        A dependency that the audit domain did not show is an error that names the input and the edge.
        """
        return trace_inputs(self._replay, inputs)

    def to_json(self) -> dict[str, object]:
        """Quanta by level with their cardinalities, direct edges, and the number of levels."""
        cardinality = {quantum.name: quantum.output_cardinality for quantum in self.program.registry.quanta}
        shown = self.graph.to_json()
        quanta: Any = shown["quanta"]
        return {
            **shown,
            "quanta": [{**quantum, "cardinality": cardinality[quantum["name"]]} for quantum in quanta],
        }
