"""`ProgramTrace`: the labels of a whole domain, kept as few distinct executions and one number per event."""

import itertools
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from quantascope.program.passes.validate import ascending
from quantascope.program.patience import patience
from quantascope.program.replay import Replay
from quantascope.program.state import State
from quantascope.program.violations import no_end
from quantascope.quanta.graph import QGraph
from quantascope.quanta.labels import MOST_OUTCOMES, GateLabels
from quantascope.quanta.properties import Properties


@dataclass(frozen=True, eq=False)
class ProgramTrace:
    """Every prediction event of some inputs, in order: `row[e]` is the execution of event e among the distinct
    ones.

    `example` is the input of an event by number, `position` the tokens written before it. `outcomes[q][code]`
    is the output that a label's code stands for; codes of the audit domain come first and are the same in every
    trace.
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
        """What the program did at each event: `QUANTUM` where it runs, `QUANTUM=value` where it finds that."""
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
        """What the program wrote for each input, the end token included."""
        starts = np.searchsorted(self.example, np.arange(len(self.inputs) + 1)).tolist()
        tokens = [self.tokens[row] for row in self.row.tolist()]
        return (tuple(tokens[a:b]) for a, b in itertools.pairwise(starts))


def trace_inputs(replay: Replay, inputs: Iterable[Any]) -> ProgramTrace:
    """Run every input to its end."""
    inputs = tuple(inputs) or ascending(())
    rows, lengths = array("q"), array("q")
    program = replay.program
    with patience() as watch:
        for source in inputs:
            state = State(source)
            while True:
                watch.state = state
                row = replay.row(state)
                rows.append(row)
                token = replay.rows[row].token
                if token == program.end:
                    break
                state = State(source, (*state.written, token))
                if len(state.written) == program.longest:
                    raise no_end(state, program.end)
            lengths.append(len(state.written) + 1)
    length = np.array(lengths, dtype=np.int64)
    first = np.cumsum(length) - length
    return ProgramTrace(
        graph=replay.graph,
        inputs=inputs,
        example=np.repeat(np.arange(len(inputs)), length),
        position=np.arange(len(rows)) - np.repeat(first, length),
        row=np.array(rows, dtype=np.int64),
        distinct=_labels(replay),
        tokens=tuple(row.token for row in replay.rows),
        outcomes=tuple(tuple(codes) for codes in replay.codes),
    )


def _labels(replay: Replay) -> GateLabels:
    outcome = np.array([row.outcome for row in replay.rows], dtype=np.int64)
    active = outcome >= 0
    eligible = np.ones_like(active)
    for edge in replay.graph.edges:
        eligible[:, edge.child] &= active[:, edge.parent]
    return GateLabels(active, eligible, outcome, np.array([row.emitter for row in replay.rows], dtype=np.int64))
