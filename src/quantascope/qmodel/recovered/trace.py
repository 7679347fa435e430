"""Traces the greedy output of a Q-model on one input, token by token, next to its source."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from quantascope.models import decode
from quantascope.models.device import device_of
from quantascope.models.predictions import Predictor
from quantascope.qmodel.recovered.execution import RecoveredExecution
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.tasks.events import Events

TOP = 3


@dataclass(frozen=True)
class Unit:
    """An active quantum or writer: its name, its executed activity, and its description."""

    name: str
    activity: float
    says: str | None = None


@dataclass(frozen=True)
class Step:
    """One emitted token.

    A channel is used if its parent has a message at this token and its child is active.
    """

    token: str
    right: str | None
    source_token: str
    gates: tuple[Unit, ...]
    writers: tuple[Unit, ...]
    channels: tuple[tuple[str, str], ...]
    top: tuple[tuple[str, float], ...]
    source_top: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Trace:
    """The steps of the Q-model's own greedy output; both models read the same prefix at each step."""

    input: str
    preset: str
    quanta: tuple[str, ...]
    channels: tuple[tuple[str, str], ...]
    output: tuple[str, ...]
    source_output: tuple[str, ...]
    right: tuple[str, ...] | None
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


@dataclass(frozen=True)
class Asked:
    """A parsed user input: its prompt tokens, the right answer if known, and the longest output to expect."""

    prompt: list[int]
    right: tuple[str, ...] | None
    limit: int

    @classmethod
    def of(cls, run: RecoveredRun, text: str) -> "Asked":
        """Parse a text as the source's task does."""
        task = run.source.sequence_task
        asked = task.parse(text)
        prompt, right = task.prompt_tokens(asked), task.right_answer(asked)
        longest = max(int(run.source.events().index.max()) + 1, len(right or ()))
        return cls(prompt, right, max(min(task.positions - len(prompt), longest), 1))

    def answered(self, run: RecoveredRun, model: Predictor) -> list[int]:
        """The greedy output of a model."""
        task = run.source.sequence_task
        (output,) = decode(model, [self.prompt], end=task.token[task.end], limit=self.limit, padding=task.padding)
        return output


@torch.no_grad()
def trace(run: RecoveredRun, text: str, descriptions: Mapping[str, str] | None = None) -> Trace:
    """Run the Q-model on a text and record its active units; `descriptions` maps units to texts."""
    words, model, source = run.source.sequence_task.vocabulary, run.model, run.source.model()
    asked = Asked.of(run, text)
    right, output, theirs = asked.right, asked.answered(run, model), asked.answered(run, source)
    events = Events.of([asked.prompt], [output]).to(device_of(model))
    done = model.run(events)
    ours, beside = done.logits.softmax(-1), source(events).softmax(-1)
    active = Active(done, model, descriptions or {})
    steps = tuple(
        Step(
            token=words[output[event]],
            right=right[event] if right and event < len(right) else None,
            source_token=words[int(beside[event].argmax())],
            gates=active.gates(row),
            writers=active.writers(row),
            channels=active.channels(row),
            top=top(ours[event], words),
            source_top=top(beside[event], words),
        )
        for event, row in enumerate(events.event_rows.tolist())
    )
    return Trace(
        input=text,
        preset=run.config.preset,
        quanta=model.names,
        channels=tuple((model.names[edge.parent], model.names[edge.child]) for edge in model.channels.edges),
        output=tuple(words[token] for token in output),
        source_output=tuple(words[token] for token in theirs),
        right=right,
        steps=steps,
    )


@dataclass(frozen=True, eq=False)
class Active:
    """The active units of one forward pass, by row."""

    done: RecoveredExecution
    model: RecoveredQModel
    descriptions: Mapping[str, str]

    def gates(self, row: int) -> tuple[Unit, ...]:
        """The quanta with an open gate, with the norm of their message."""
        return tuple(
            self._unit(self.model.names[quantum], float(self.done.message[quantum, row].norm()))
            for quantum in self._open(row)
        )

    def writers(self, row: int) -> tuple[Unit, ...]:
        """The active writers, with the size of their output."""
        wrote = self.done.activity[:, row]
        return tuple(
            self._unit(self.model.writer_names[quantum][writer], float(wrote[quantum, writer]))
            for quantum, writer in (wrote > 0).nonzero().tolist()
        )

    def channels(self, row: int) -> tuple[tuple[str, str], ...]:
        """The channels with a message of the parent and an active child."""
        active, sent, names = self._open(row), self.done.message[:, row].norm(dim=-1), self.model.names
        return tuple(
            (names[edge.parent], names[edge.child])
            for edge in self.model.channels.edges
            if edge.child in active and float(sent[edge.parent]) > 0
        )

    def _open(self, row: int) -> list[int]:
        return (self.done.active[:, row] > 0).nonzero().flatten().tolist()

    def _unit(self, name: str, activity: float) -> Unit:
        return Unit(name, activity, self.descriptions.get(name))


def top(probability: Tensor, words: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """The most probable tokens."""
    value, token = probability.topk(min(TOP, len(probability)))
    return tuple((words[t], float(p)) for t, p in zip(token.tolist(), value, strict=True))
