"""Measures the effects of a Q-model's units in its source.

For each writer w of layer ℓ, with unit direction v and activity α at each token:

    Q-model   silence w everywhere: the change of each event's NLL is the prediction
    source    subtract from block ℓ's update, at the tokens where w writes, either the message α v ("message"), or
              the component of the update along v ("component"), and run the later blocks
    controls  the same message along a random direction; and the message at randomly drawn tokens instead

Prediction and effect are compared over the events at which w writes. An intervention on a quantum is made in the
source in the same way: what it changes in the quantum's message is added to the stream after its block.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.models.device import CPU, device_of
from quantascope.models.residual import ResidualModel
from quantascope.qmodel.recovered.interventions import Effect, ablate_quantum, ablate_writer, effects
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.surgery import Surgery
from quantascope.tasks.events import Events

KINDS = ("message", "component", "random_direction", "random_events")
LEAST_EVENTS = 20
"""Fewest events at which a writer must write to get a correlation of its own."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """For each writer and event at which it writes, the predicted change of NLL and the changes in the source.

    The same for quanta and the events at which they are active.
    """

    writer: Int[np.ndarray, " pairs"]
    predicted: Float[np.ndarray, " pairs"]
    found: Mapping[str, Float[np.ndarray, " pairs"]]

    def correlation(self, kind: str) -> float:
        """Pearson correlation over all pairs."""
        return _correlation(self.predicted, self.found[kind])

    def rank_correlation(self, kind: str) -> float:
        """Spearman correlation over all pairs."""
        from scipy import stats  # imported here because it is slow to import

        return _correlation(stats.rankdata(self.predicted), stats.rankdata(self.found[kind]))

    def within_writers(self, kind: str) -> float:
        """Mean over writers of the correlation over each writer's events."""
        each = [
            _correlation(self.predicted[own], self.found[kind][own])
            for own in (self.writer == writer for writer in np.unique(self.writer))
            if own.sum() >= LEAST_EVENTS
        ]
        each = [one for one in each if np.isfinite(one)]
        return float(np.mean(each)) if each else float("nan")

    def mean_effect(self, kind: str) -> float:
        """Mean change of NLL in the source."""
        return float(self.found[kind].mean()) if len(self.predicted) else float("nan")


def _correlation(one: Float[np.ndarray, " pairs"], other: Float[np.ndarray, " pairs"]) -> float:
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


@torch.no_grad()
def compare(model: RecoveredQModel, source: ResidualModel, events: Events, *, seed: int = 0) -> Comparison:
    """Silence every writer in the Q-model, and subtract its output in the source."""
    events = events.to(device_of(model))
    ours, theirs = model.run(events), source.run(events)
    stream = torch.stack([theirs.stream, *theirs.updates]).cumsum(0)
    before = _nll(theirs.logits, events)
    generator = torch.Generator().manual_seed(seed)
    pairs = [(quantum, writer) for quantum in range(len(model.layers)) for writer in range(model.config.writers)]
    silenced = effects(model, events, (ablate_writer(model, quantum, writer) for quantum, writer in pairs))
    writers, predicted = [], []
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
    for place, ((quantum, writer), prediction) in enumerate(zip(pairs, silenced, strict=True)):
        wrote, layer = ours.activity[quantum, :, writer], model.layers[quantum]
        at = (wrote[events.event_rows] > 0).nonzero().squeeze(1)
        if not len(at):
            continue
        direction = model.directions[quantum, writer]
        other = torch.nn.functional.normalize(torch.randn(direction.shape, generator=generator), dim=0)
        drawn = torch.randperm(len(wrote), generator=generator).to(wrote.device)
        along = (theirs.updates[layer] @ direction) * (wrote > 0)
        taken = {
            "message": wrote[:, None] * direction,
            "component": along[:, None] * direction,
            "random_direction": wrote[:, None] * other.to(wrote.device),
            "random_events": wrote[drawn][:, None] * direction,
        }
        for kind, message in taken.items():
            logits = source.resume(stream[layer + 1] - message, events, block=layer + 1)
            found[kind].append((_nll(logits, events) - before)[at].cpu().numpy())
        predicted.append(prediction.nll[at.to(CPU)].numpy())
        writers.append(np.full(len(at), place))
    return Comparison(
        _joined(writers).astype(np.int64), _joined(predicted), {kind: _joined(one) for kind, one in found.items()}
    )


@torch.no_grad()
def compare_quanta(model: RecoveredQModel, source: ResidualModel, events: Events, *, seed: int = 0) -> Comparison:
    """Ablate every quantum in the Q-model; in the source, subtract its message, or a random one as long."""
    events = events.to(device_of(model))
    ours, theirs = model.run(events), source.run(events)
    stream = torch.stack([theirs.stream, *theirs.updates]).cumsum(0)
    before = _nll(theirs.logits, events)
    generator = torch.Generator().manual_seed(seed)
    quanta, messages = range(len(model.layers)), ours.message
    ablated = effects(model, events, (ablate_quantum(quantum) for quantum in quanta))
    units, predicted = [], []
    found: dict[str, list[np.ndarray]] = {"message": [], "random_direction": []}
    for quantum, prediction in zip(quanta, ablated, strict=True):
        message, layer = messages[quantum], model.layers[quantum]
        at = (message[events.event_rows].abs().sum(1) > 0).nonzero().squeeze(1)
        other = torch.nn.functional.normalize(torch.randn(message.shape[1], generator=generator), dim=0)
        random = message.norm(dim=1, keepdim=True) * other.to(message.device)
        for kind, taken in (("message", message), ("random_direction", random)):
            logits = source.resume(stream[layer + 1] - taken, events, block=layer + 1)
            found[kind].append((_nll(logits, events) - before)[at].cpu().numpy())
        predicted.append(prediction.nll[at.to(CPU)].numpy())
        units.append(np.full(len(at), quantum))
    return Comparison(
        _joined(units).astype(np.int64), _joined(predicted), {kind: _joined(one) for kind, one in found.items()}
    )


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def _nll(logits: Tensor, events: Events) -> Tensor:
    return torch.nn.functional.cross_entropy(logits, events.target, reduction="none")


@torch.no_grad()
def source_effect(
    model: RecoveredQModel, source: ResidualModel, events: Events, surgery: Surgery, quantum: int
) -> Effect:
    """The effect in the source of changing a quantum's message: the change is added to the stream."""
    there = events.to(device_of(model))
    before, after = source_logits(model, source, there, surgery, model.layers[quantum])
    still, right = ((logits.argmax(-1) == there.target).long() for logits in (after, before))
    rise = _nll(after, there) - _nll(before, there)
    return Effect(events, rise.to(CPU), (still - right).to(CPU))


@torch.no_grad()
def source_logits(
    model: RecoveredQModel, source: ResidualModel, events: Events, surgery: Surgery, layer: int
) -> tuple[Float[Tensor, "events vocabulary"], Float[Tensor, "events vocabulary"]]:
    """Logits of the source before and after adding the change of a layer's messages to its output."""
    own = [place for place, at in enumerate(model.layers) if at == layer]
    change = (model.run(events, surgery=surgery).message - model.run(events).message)[own].sum(0)
    theirs = source.run(events)
    stream = torch.stack([theirs.stream, *theirs.updates]).cumsum(0)[layer + 1]
    return theirs.logits, source.resume(stream + change, events, block=layer + 1)
