"""Interventions that a user specifies, in the Q-model and in its source.

    delete-all            children receive no messages
    replace-all           children receive the messages of another example of the same shape
    replace UNIT          children receive one quantum's messages from another example
    delete A->B           the channel from quantum A to quantum B carries nothing
    ablate UNIT           a quantum never runs, or a writer never writes
    force UNIT            a quantum always runs

In the source, an intervention on a unit adds the change of the unit's message to the stream, and the later blocks
run on it. Channels and the messages they carry exist only in the Q-model: the source has no counterpart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quantascope.qmodel.recovered.fidelity import panel_for
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.interventions import (
    Effect,
    ablate_quantum,
    ablate_writer,
    delete_all,
    delete_one,
    effect,
    force_gate,
    replace_all,
    replace_one,
)
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.source_effects import source_effect
from quantascope.qmodel.recovered.surgery import Surgery
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

ARROW = "->"
KINDS = ("delete-all", "replace-all", "delete", "replace", "ablate", "force")


@dataclass(frozen=True, eq=False)
class Intervention:
    """One intervention and its effects; `source` is None if the source has no counterpart."""

    title: str
    qmodel: Effect
    source: Effect | None


@dataclass(frozen=True, eq=False)
class Interventions:
    """Interventions on the events of a panel, or of one input."""

    where: str
    events: Events
    vocabulary: tuple[str, ...]
    done: tuple[Intervention, ...]

    def to_json(self) -> dict[str, Any]:
        """The effects as JSON: means with intervals for each intervention, and effects by token and event."""
        return {
            "where": self.where,
            "events": self.events.count,
            "interventions": [
                {
                    "title": one.title,
                    "qmodel": self._effect(one.qmodel),
                    "source": None if one.source is None else self._effect(one.source),
                }
                for one in self.done
            ],
        }

    def _effect(self, found: Effect) -> dict[str, Any]:
        several = len(found.events) > 1  # an interval over examples needs more than one
        return {
            "accuracy_drop": found.accuracy_drop,
            "nll_rise": float(found.nll.double().mean()),
            "nll_interval": list(found.interval(found.nll)) if several else None,
            "by_token": {self.vocabulary[token]: lost for token, lost in found.by_word().items()},
            "by_event": found.nll.tolist(),
        }

    def rising_tokens(self, found: Effect, most: int = 3) -> list[tuple[str, float]]:
        """The tokens whose NLL rises most, on average over their events."""
        target, rise = found.events.target.numpy(), found.nll.numpy()
        means = {int(token): float(rise[target == token].mean()) for token in np.unique(target)}
        ranked = sorted(means, key=lambda token: -means[token])[:most]
        return [(self.vocabulary[token], means[token]) for token in ranked if means[token] > 0]


def intervene(
    run: RecoveredRun, asked: Sequence[str], *, text: str | None = None, panel: str | None = None
) -> Interventions:
    """Make the given interventions, such as `ablate L0.Q1`, on one input or on a panel."""
    if not asked:
        raise InvalidConfig("no intervention is given; name some, as in --ablate L0.Q1 or --delete-all")
    if text is not None and panel is not None:
        raise InvalidConfig(f"give either the input '{text}' or the panel '{panel}', not both")
    task = run.source.sequence_task
    if text is None:
        where = panel or panel_for(run.source, "causal")
        events = run.source.events(where)
    else:
        where, events = text, _events_of(run, text)
    done = tuple(_intervention(run, one, events) for one in asked)
    return Interventions(where, events, task.vocabulary, done)


def _events_of(run: RecoveredRun, text: str) -> Events:
    task = run.source.sequence_task
    source = task.parse(text)
    right = task.right_answer(source)
    if right is None:
        raise InvalidConfig(f"the right answer to '{text}' is unknown, so its loss is too; intervene on a panel")
    return Events.of([task.prompt_tokens(source)], [[task.token[symbol] for symbol in right]])


def _intervention(run: RecoveredRun, asked: str, events: Events) -> Intervention:
    model = run.model
    found = planned(model, asked, events)
    inside = effect(model, events, found.surgery)
    if found.quantum is None:
        return Intervention(found.title, inside, None)
    beside = source_effect(model, run.source.model(), events, found.surgery, found.quantum)
    return Intervention(found.title, inside, beside)


@dataclass(frozen=True, eq=False)
class Planned:
    """A parsed intervention; `quantum` is the quantum whose message it also changes in the source."""

    title: str
    surgery: Surgery
    quantum: int | None = None


def planned(model: RecoveredQModel, asked: str, events: Events) -> Planned:
    """Parse an intervention."""
    kind, _, unit = asked.partition(" ")
    if kind == "delete-all":
        return Planned("all messages deleted", delete_all(model))
    if kind == "replace-all":
        return Planned("all messages replaced", replace_all(model, events))
    if kind == "delete":
        parent, child = _channel(model, unit)
        title = f"channel {model.names[parent]} {ARROW} {model.names[child]} deleted"
        return Planned(title, delete_one(model, parent, child))
    if kind == "replace":
        return Planned(f"messages of {unit} replaced", replace_one(model, events, _quantum(model, kind, unit)))
    surgery, quantum = _unit_surgery(model, kind, unit)
    return Planned(f"{unit} {'ablated' if kind == 'ablate' else 'forced open'}", surgery, quantum)


def _unit_surgery(model: RecoveredQModel, kind: str, unit: str) -> tuple[Surgery, int]:
    if kind not in ("ablate", "force"):
        raise InvalidConfig(f"there is no intervention '{kind}'; there are {', '.join(KINDS)}")
    for quantum, writers in enumerate(model.writer_names):
        if unit in writers and kind == "ablate":
            return ablate_writer(model, quantum, writers.index(unit)), quantum
    quantum = _quantum(model, kind, unit)
    return (ablate_quantum if kind == "ablate" else force_gate)(quantum), quantum


def _quantum(model: RecoveredQModel, kind: str, unit: str) -> int:
    if unit in model.names:
        return model.names.index(unit)
    known = ", ".join(model.names[:3])
    raise InvalidConfig(
        f"there is no unit '{unit}' to {kind}; quanta are {known}, …, writers {_some_writers(model)}"
    )


def _some_writers(model: RecoveredQModel) -> str:
    return ", ".join(model.writer_names[0][:2]) + ", …"


def _channel(model: RecoveredQModel, asked: str) -> tuple[int, int]:
    parent, arrow, child = (part.strip() for part in asked.partition(ARROW))
    ends = {(model.names[edge.parent], model.names[edge.child]): edge for edge in model.channels.edges}
    if not arrow or (parent, child) not in ends:
        known = ", ".join(f"{one}{ARROW}{other}" for one, other in list(ends)[:4]) or "none"
        raise InvalidConfig(f"there is no channel '{asked}'; the channels are {known}")
    edge = ends[parent, child]
    return edge.parent, edge.child
