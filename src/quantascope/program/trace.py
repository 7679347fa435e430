"""`ProgramTrace`: the labels of a domain, stored as distinct executions and one number per event."""

import itertools
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from quantascope.program.execution_cache import ExecutionCache
from quantascope.program.passes.validate import ascending
from quantascope.program.registry import Program
from quantascope.program.state import State
from quantascope.program.time_limit import Watch, run_program
from quantascope.program.violations import no_end
from quantascope.quanta.graph import QGraph
from quantascope.quanta.labels import MOST_OUTCOMES, GateLabels
from quantascope.quanta.properties import Properties


@dataclass(frozen=True, eq=False)
class ProgramTrace:
    """Every prediction event of some inputs, in order: `row[e]` is the index of event e's execution.

    `example[e]` is the number of the event's input, `position[e]` the number of tokens written before it.
    `outcomes[q][code]` is the output that a label's code stands for; codes of the audit domain come first and are
    the same in every trace.
    """

    graph: QGraph
    inputs: tuple[Any, ...] = field(repr=False)
    example: Int[np.ndarray, " events"]
    position: Int[np.ndarray, " events"]
    row: Int[np.ndarray, " events"]
    distinct: GateLabels = field(repr=False)
    tokens: tuple[str, ...] = field(repr=False)
    """The token of each distinct execution."""
    outcomes: tuple[tuple[Any, ...], ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def labels(self) -> GateLabels:
        """One row of labels per event."""
        whole, row = self.distinct, self.row
        return GateLabels(whole.active[row], whole.eligible[row], whole.outcome[row], whole.emitter[row])

    @property
    def properties(self) -> Properties:
        """The properties of each event: `QUANTUM` if the quantum runs, `QUANTUM=value` if it returns the value."""
        names, rows = [], []
        for quantum, (name, outcomes) in enumerate(zip(self.graph.names, self.outcomes, strict=True)):
            found = self.distinct.outcome[:, quantum]
            names.append(name)
            rows.append(found >= 0)
            if 1 < len(outcomes) <= MOST_OUTCOMES:
                names += [f"{name}={getattr(value, 'name', value)}" for value in outcomes]
                rows += [found == code for code in range(len(outcomes))]
        return Properties(tuple(names), np.array(rows)[:, self.row], self.example)

    def written(self) -> Iterator[tuple[str, ...]]:
        """The tokens that the program wrote for each input, including the end token."""
        starts = np.searchsorted(self.example, np.arange(len(self.inputs) + 1)).tolist()
        tokens = [self.tokens[row] for row in self.row.tolist()]
        return (tuple(tokens[a:b]) for a, b in itertools.pairwise(starts))


class _Executions(NamedTuple):
    """The execution of each event, the number of events of each input, and the distinct executions."""

    row: Int[np.ndarray, " events"]
    length: Int[np.ndarray, " inputs"]
    outcome: Int[np.ndarray, "rows quanta"]
    emitter: Int[np.ndarray, " rows"]
    tokens: tuple[str, ...]
    outcomes: tuple[tuple[Any, ...], ...]


def trace_inputs(
    program: Program, graph: QGraph, cache: Callable[[], ExecutionCache], inputs: tuple[Any, ...]
) -> ProgramTrace:
    """Run every input until the end token, in a separate process."""
    inputs = inputs or ascending(())
    found = run_program(program, inputs, lambda watch: _executed(cache(), inputs, watch))
    first = np.cumsum(found.length) - found.length
    return ProgramTrace(
        graph=graph,
        inputs=inputs,
        example=np.repeat(np.arange(len(inputs)), found.length),
        position=np.arange(len(found.row)) - np.repeat(first, found.length),
        row=found.row,
        distinct=_labels(graph, found.outcome, found.emitter),
        tokens=found.tokens,
        outcomes=found.outcomes,
    )


def _executed(cache: ExecutionCache, inputs: tuple[Any, ...], watch: Watch) -> _Executions:
    rows, lengths = array("q"), array("q")
    program = cache.program
    for source in inputs:
        state = State(source)
        while True:
            watch.at(state)
            row = cache.row(state)
            rows.append(row)
            token = cache.rows[row].token
            if token == program.end:
                break
            state = State(source, (*state.written, token))
            if len(state.written) == program.longest:
                raise no_end(state, program.end)
        lengths.append(len(state.written) + 1)
    outcome, emitter, token = zip(*cache.rows, strict=True)
    return _Executions(
        *map(np.array, (rows, lengths, outcome, emitter)), tokens=token, outcomes=tuple(map(tuple, cache.codes))
    )


def _labels(
    graph: QGraph, outcome: Int[np.ndarray, "rows quanta"], emitter: Int[np.ndarray, " rows"]
) -> GateLabels:
    active = outcome >= 0
    eligible = np.ones_like(active)
    for edge in graph.edges:
        eligible[:, edge.child] &= active[:, edge.parent]
    return GateLabels(active, eligible, outcome, emitter)
