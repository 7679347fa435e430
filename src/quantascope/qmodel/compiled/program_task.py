"""`ProgramTask`: a compiled program with its task and consistent labels.

If a task has exceptions, the program's answers differ from the task's on some inputs. The Q-model is then trained
and evaluated on the program's answers; a network that it guides learns the task's answers.
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
        """The events of a panel along the program's answers, with the program's labels.

        Raises if the program does not write the task's answers, unless the task has exceptions.
        """
        inputs = self.task.panel(panel)
        trace = self.compiled.trace(inputs)  # traced first, because this stops a program that loops
        if self.task.exceptions:
            return Supervision.of(self._written(trace), trace.labels)
        events = self.events(panel)
        self._check_answers(trace, events)
        return Supervision.of(events, trace.labels)

    def events(self, panel: str) -> Events:
        """The events of a panel along the task's answers, as a network learns them; computed once."""
        if panel not in self._events:
            self._events[panel] = self.task.events(self.task.panel(panel))
        return self._events[panel]

    @cached_property
    def _events(self) -> dict[str, Events]:
        return {}

    def right(self, panel: str) -> list[bool]:
        """For each input of a panel, whether the program writes the task's answer."""
        inputs = self.task.panel(panel)
        pairs = zip(self.compiled.trace(inputs).written(), self.task.answers(inputs), strict=True)
        return [written == answer for written, answer in pairs]

    def _written(self, trace: ProgramTrace) -> Events:
        return self.task.events_of(trace.inputs, trace.written())

    def check_outcomes(self, panel: str) -> None:
        """Raise if a taught quantum has an output on the training panel that the audit domain did not show."""
        trace = self.compiled.trace(self.task.panel(panel))
        counts = tuple(map(len, self.compiled.outcomes))
        for quantum in taught_quanta(counts):
            unseen = np.flatnonzero(trace.labels.outcome[:, quantum] >= counts[quantum])
            if len(unseen):
                source = ascending({trace.inputs[example] for example in trace.example[unseen].tolist()})[0]
                raise UnseenOutcome(
                    f"has an output on panel '{panel}' that the audit domain does not show; it cannot be taught",
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
            f"the program writes '{written}', but the answer of its task is '{answer}'",
            "fix the program, or `answer` of the task, or declare that the task has exceptions",
            state=State(smallest),
        )


def program_task(program: str) -> ProgramTask:
    """The compiled program with its task; compiled only once."""
    return _program_task(find_program(program), find_task(program))


@cache
def _program_task(program: Program, task: SequenceTask) -> ProgramTask:
    return ProgramTask(compile_program(program), task)
