"""A Q-model at work: the greedy naming of one number, token by token, beside its source."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from quantascope.models import decode
from quantascope.qmodel.recovered.fit import END, LONGEST_OUTPUT, RecoveredRun
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import PAD, Events
from quantascope.tasks.number_naming import LARGEST, VOCABULARY, number_name, prompt

TOP = 3


@dataclass(frozen=True)
class Unit:
    """A quantum or writer that is active: its name, what it wrote (its executed activity), and its description."""

    name: str
    activity: float
    says: str | None = None


@dataclass(frozen=True)
class Step:
    """One emitted token.

    A channel is used where its parent wrote something at this token and its child is active.
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

    number: int
    recipe: str
    quanta: tuple[str, ...]
    channels: tuple[tuple[str, str], ...]
    output: tuple[str, ...]
    source_output: tuple[str, ...]
    right: tuple[str, ...]
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


@torch.no_grad()
def trace(run: RecoveredRun, number: int, descriptions: Mapping[str, str] | None = None) -> Trace:
    """Run the Q-model on a number and write down what was active; `descriptions` are by name of the unit."""
    if not 1 <= number <= LARGEST:
        raise InvalidConfig(f"{number} has no name here; give a number from 1 to {LARGEST:,}")
    says = descriptions or {}
    model, source = run.model, run.source.model()
    asked = [prompt(number)]
    (output,), (theirs,) = (
        decode(one, asked, end=END, limit=LONGEST_OUTPUT, padding=PAD) for one in (model, source)
    )
    events = Events.of(asked, [output])
    done, right = model.run(events), (*number_name(number), "EOS")
    ours, beside = done.logits.softmax(-1), source(events).softmax(-1)
    edges = [(edge.parent, edge.child) for edge in model.channels.edges]
    names, writer_names = model.names, model.writer_names
    steps = []
    for event, row in enumerate(events.event_rows.tolist()):
        active = (done.active[:, row] > 0).nonzero().flatten().tolist()
        wrote = done.activity[:, row]
        steps.append(
            Step(
                token=VOCABULARY[output[event]],
                right=right[event] if event < len(right) else None,
                source_token=VOCABULARY[int(beside[event].argmax())],
                gates=tuple(
                    Unit(names[q], float(done.message[q, row].norm()), says.get(names[q])) for q in active
                ),
                writers=tuple(
                    Unit(writer_names[q][w], float(wrote[q, w]), says.get(writer_names[q][w]))
                    for q, w in (wrote > 0).nonzero().tolist()
                ),
                channels=tuple(
                    (names[parent], names[child])
                    for parent, child in edges
                    if child in active and float(wrote[parent].sum()) > 0
                ),
                top=_top(ours[event]),
                source_top=_top(beside[event]),
            )
        )
    return Trace(
        number=number,
        recipe=run.config.recipe,
        quanta=names,
        channels=tuple((names[parent], names[child]) for parent, child in edges),
        output=tuple(VOCABULARY[token] for token in output),
        source_output=tuple(VOCABULARY[token] for token in theirs),
        right=right,
        steps=tuple(steps),
    )


def _top(probability: Tensor) -> tuple[tuple[str, float], ...]:
    value, token = probability.topk(TOP)
    return tuple((VOCABULARY[t], float(p)) for t, p in zip(token.tolist(), value, strict=True))
