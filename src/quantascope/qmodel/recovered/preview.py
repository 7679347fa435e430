"""Predictions of both models on one input, token by token, before and after joint interventions.

The tokens are the Q-model's output without interventions, so that every step has the same prefix as in its trace.
Replaced messages come from a donor: the first example of the causal panel with equal prompt and output lengths.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from quantascope.models.device import device_of
from quantascope.qmodel.recovered.fidelity import panel_for
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.intervene import Planned, planned
from quantascope.qmodel.recovered.source_effects import source_logits
from quantascope.qmodel.recovered.surgery import NO_SURGERY
from quantascope.qmodel.recovered.trace import Active, Asked, Unit, top
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events


@dataclass(frozen=True)
class Prediction:
    """The most probable tokens, and the probability of the step's token."""

    top: tuple[tuple[str, float], ...]
    probability: float


@dataclass(frozen=True)
class PreviewStep:
    """One step, with the gates open under the interventions; `source_after` is None without a counterpart."""

    token: str
    gates: tuple[Unit, ...]
    before: Prediction
    after: Prediction
    source_before: Prediction
    source_after: Prediction | None


@dataclass(frozen=True)
class Preview:
    """The steps of an input; `right` is whether its tokens are the right answer, or None if that is unknown.

    `note` explains why the source has no counterpart to the interventions, if so.
    """

    input: str
    preset: str
    title: str
    donor: str | None
    note: str | None
    right: bool
    steps: tuple[PreviewStep, ...]

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


@torch.no_grad()
def preview(
    run: RecoveredRun, text: str, units: Sequence[str], descriptions: Mapping[str, str] | None = None
) -> Preview:
    """Answer one input under all given interventions together, such as `ablate L0.Q1`."""
    if not units:
        raise InvalidConfig("no intervention is given; name some, as in ablate L0.Q1")
    model, words, asked = run.model, run.source.sequence_task.vocabulary, Asked.of(run, text)
    output, donor = asked.answered(run, model), None
    events = Events.of([asked.prompt], [output])
    if any(unit.startswith("replace") for unit in units):
        other, donor = _donor(run, events)
        events = events.joined(other)
    events = events.to(device_of(model))
    plans = [planned(model, unit, events) for unit in units]
    surgery = NO_SURGERY
    for plan in plans:
        surgery |= plan.surgery
    done, note = model.run(events, surgery=surgery), _note(run, plans)
    active = Active(done, model, descriptions or {})
    before, after = model.run(events).logits.softmax(-1), done.logits.softmax(-1)
    source, there = run.source.model(), None
    if note is None:
        layer = model.layers[plans[0].quantum or 0]
        theirs, there = (one.softmax(-1) for one in source_logits(model, source, events, surgery, layer))
    else:
        theirs = source(events).softmax(-1)
    steps = tuple(
        PreviewStep(
            token=words[token],
            gates=active.gates(row),
            before=_prediction(before[event], token, words),
            after=_prediction(after[event], token, words),
            source_before=_prediction(theirs[event], token, words),
            source_after=None if there is None else _prediction(there[event], token, words),
        )
        for event, (token, row) in enumerate(zip(output, events.event_rows[: len(output)].tolist(), strict=True))
    )
    return Preview(
        input=text,
        preset=run.config.preset,
        title=", ".join(plan.title for plan in plans),
        donor=donor,
        note=note,
        right=asked.right is not None and asked.right == tuple(words[token] for token in output),
        steps=steps,
    )


def _prediction(probability: Tensor, token: int, words: tuple[str, ...]) -> Prediction:
    return Prediction(top(probability, words), float(probability[token]))


def _note(run: RecoveredRun, plans: Sequence[Planned]) -> str | None:
    """Why the source has no counterpart to these interventions, if it has none."""
    if any(plan.quantum is None for plan in plans):
        return "Messages and channels exist only in the Q-model; the network has no counterpart."
    layers = {run.model.layers[plan.quantum] for plan in plans if plan.quantum is not None}
    return None if len(layers) == 1 else "In the network, only units of one layer can be changed at a time."


def _donor(run: RecoveredRun, events: Events) -> tuple[Events, str]:
    """Another example of equal prompt and output length, and its prompt."""
    panel = run.source.events(panel_for(run.source, "causal"))
    outputs = torch.bincount(panel.example, minlength=len(panel))
    alike = (panel.length == events.length[0]) & (outputs == events.count)
    words = run.source.sequence_task.vocabulary
    for example in alike.nonzero().flatten().tolist():
        other = panel.taken(torch.tensor([example]))
        if not torch.equal(other.tokens, events.tokens):
            prompt = other.tokens[0, : int(other.position[0]) + 1].tolist()
            return other, " ".join(words[token] for token in prompt)
    raise InvalidConfig("no other example has the same prompt and output length, so messages cannot be replaced")
