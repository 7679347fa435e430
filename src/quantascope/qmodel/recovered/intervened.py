"""Interventions as a term of the fit: under an intervention a Q-model must say what its source says.

An intervened update takes a part of the last checkpoint's inputs. In a layer drawn at random, each writer is
silenced and each quantum ablated by chance, on all tokens. The change of the layer's messages is added to the
source's stream after the same block, and its later blocks run on it. The loss is KL(source ‖ Q) after both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.models.grid import grid_of
from quantascope.models.residual import ResidualModel
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.surgery import Surgery
from quantascope.runs.config import Config, NonNegativeFloat, Share
from quantascope.training.objective import GradientOf


class InterventionTerm(Config):
    """The share of updates that intervene once share `begin` is over, and the chance of each unit of a layer."""

    share: Share = 0.5
    begin: Share = 0.1
    writers: Share = 0.2
    quanta: Share = 0.1
    weight: NonNegativeFloat = 5.0


@dataclass(frozen=True)
class IntervenedObjective:
    """An objective that is replaced by the intervention term in a share of the updates.

    `replays` are those of the last checkpoint of `source`.
    """

    objective: GradientOf
    term: InterventionTerm
    source: ResidualModel
    replays: Sequence[ReplayedCheckpoint]
    updates: int
    seed: int

    def __call__(self, model: RecoveredQModel, batch: Any, step: int) -> Mapping[str, Tensor]:
        draw = np.random.default_rng([self.seed, step, 1])
        if step < self.term.begin * self.updates or draw.random() >= self.term.share:
            return self.objective(model, batch, step)
        replayed = self.replays[int(draw.integers(len(self.replays)))]
        layer, surgery = drawn_surgery(model, self.term, draw)
        model.zero_grad()
        loss = self.term.weight * intervened_divergence(model, self.source, replayed, surgery, layer)
        loss.backward()
        return {"interventions": loss.detach()}


def drawn_surgery(
    model: RecoveredQModel, term: InterventionTerm, draw: np.random.Generator
) -> tuple[int, Surgery]:
    """A layer that has quanta, and an intervention on units of it."""
    layers = np.array(model.layers)
    layer = int(draw.choice(np.unique(layers)))
    silenced = draw.random((len(layers), model.config.writers)) < term.writers
    ablated = (draw.random(len(layers)) < term.quanta) & (layers == layer)
    mask = torch.from_numpy(silenced & (layers == layer)[:, None]).to(model.gate.device)
    return layer, Surgery(silenced=mask, gates={int(quantum): False for quantum in np.flatnonzero(ablated)})


def intervened_divergence(
    model: RecoveredQModel, source: ResidualModel, replayed: ReplayedCheckpoint, surgery: Surgery, layer: int
) -> Float[Tensor, ""]:
    """KL(source ‖ Q) in nats, mean over events, with a layer's messages changed in both."""
    of_replay = {"interface": replayed.interface, "existence": replayed.existence, "frozen_channels": True}
    done = model.run(replayed.events, surgery=surgery, **of_replay)
    with torch.no_grad():
        change = done.updates[layer] - model.run(replayed.events, **of_replay).updates[layer]
        stream = replayed.interface.embed(grid_of(replayed.events)) + sum(replayed.updates[: layer + 1])
        wanted = source.resume(stream + change, replayed.events, block=layer + 1).log_softmax(-1)
    return torch.nn.functional.kl_div(done.logits.log_softmax(-1), wanted, reduction="batchmean", log_target=True)
