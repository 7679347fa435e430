"""`ProgramTask`: a compiled program, its task, and labels that agree with the answers of the task.

Where a task has exceptions, the program writes other answers to some inputs. A Q-model is then taught what the
program writes, and measured by it; a network that it guides learns the answers of the task.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from quantascope.program import CompiledProgram, Program, ProgramTrace, compile_program
from quantascope.program.passes.validate import ascending
from quantascope.program.state import State
from quantascope.program.violations import UnseenOutcome, WrongAnswer
from quantascope.programs import find_program, find_task
from quantascope.qmodel import Supervision
from quantascope.qmodel.compiled.supervision import taught_quanta
from quantascope.tasks.events import Events
from quantascope.tasks.sequence import SequenceTask


@dataclass(frozen=True, eq=False)
class ProgramTask:
    """A compiled program with its task."""

    compiled: CompiledProgram
    task: SequenceTask

    def supervision(self, panel: str) -> Supervision:
        """The events of a panel, along what the program writes, with its labels.

        A program that does not write the task's answers is refused, unless the task has exceptions.
        """
        inputs = self.task.panel(panel)
        trace = self.compiled.trace(inputs)  # first, since it ends a program that loops
        if self.task.exceptions:
            return Supervision.of(self._written(trace), trace.labels)
        events = self.events(panel)
        self._check_answers(trace, events)
        return Supervision.of(events, trace.labels)

    def events(self, panel: str) -> Events:
        """The events of a panel that a network learns, asked for once: along the answers of the task."""
        if panel not in self._events:
            self._events[panel] = self.task.events(self.task.panel(panel))
        return self._events[panel]

    @cached_property
    def _events(self) -> dict[str, Events]:
        return {}

    def right(self, panel: str) -> list[bool]:
        """Whether the program writes the answer of the task, for each input of a panel."""
        inputs = self.task.panel(panel)
        pairs = zip(self.compiled.trace(inputs).written(), self.task.answers(inputs), strict=True)
        return [written == answer for written, answer in pairs]

    def _written(self, trace: ProgramTrace) -> Events:
        return self.task.events_of(trace.inputs, trace.written())

    def check_outcomes(self, panel: str) -> None:
        """Refuse a panel to be learned from on which a taught quantum finds what the audit domain did not show."""
        trace = self.compiled.trace(self.task.panel(panel))
        counts = tuple(map(len, self.compiled.outcomes))
        for quantum in taught_quanta(counts):
            unseen = np.flatnonzero(trace.labels.outcome[:, quantum] >= counts[quantum])
            if len(unseen):
                source = ascending({trace.inputs[example] for example in trace.example[unseen].tolist()})[0]
                raise UnseenOutcome(
                    f"finds on panel '{panel}' what the audit domain does not show, and cannot be taught it",
                    "add this input to `audit` of the entry",
                    quantum=trace.graph.names[quantum],
                    state=State(source),
                )

    def _check_answers(self, trace: ProgramTrace, events: Events) -> None:
        tokens = np.array([self.task.token.get(token, -1) for token in trace.tokens])[trace.row]
        if np.array_equal(trace.example, events.example) and np.array_equal(tokens, events.target):
            return
        answers = self.task.answers(trace.inputs)
        pairs = {
            source: (written, answer)
            for source, written, answer in zip(trace.inputs, trace.written(), answers, strict=True)
            if written != answer
        }
        smallest = ascending(pairs)[0]
        written, answer = map(" ".join, pairs[smallest])
        raise WrongAnswer(
            f"the program writes '{written}', and the answer of its task is '{answer}'",
            "mend the program, or `answer` of the task, or say that it has exceptions",
            state=State(smallest),
        )


def program_task(program: str) -> ProgramTask:
    """The task of a program with the program, compiled once."""
    return _program_task(find_program(program), find_task(program))


@cache
def _program_task(program: Program, task: SequenceTask) -> ProgramTask:
    return ProgramTask(compile_program(program), task)
