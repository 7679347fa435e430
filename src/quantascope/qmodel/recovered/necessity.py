"""Channels chosen by measured necessity: a dense fit, each deleted alone, and a fit without the dispensable ones.

All channels are open until share `after` of the updates. Then the necessity of each is measured: the rise of
KL(source ‖ Q), in nats per event, when it alone carries nothing. Channels whose necessity is below `least` are
closed. No channel is trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.qmodel.recovered.interventions import delete_one
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint, divergence
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.surgery import NO_SURGERY, Surgery
from quantascope.runs.config import Config, PositiveFloat, Share
from quantascope.training.objective import GradientOf


class Necessity(Config):
    """When channels are chosen, and the least necessity of one that stays."""

    after: Share = 0.7
    least: PositiveFloat = 0.01


@torch.no_grad()
def channel_necessity(
    model: RecoveredQModel, replays: Sequence[ReplayedCheckpoint]
) -> Float[Tensor, "quanta quanta"]:
    """The necessity of each open channel, children by parents; 0 where there is none."""

    def error(surgery: Surgery) -> Tensor:
        runs = (
            (model.run(one.events, interface=one.interface, existence=one.existence, surgery=surgery), one)
            for one in replays
        )
        return torch.stack([divergence(done, one) for done, one in runs]).mean()

    whole, found = error(NO_SURGERY), torch.zeros_like(model.channels.logit)
    for edge in model.channels.edges:
        found[edge.child, edge.parent] = error(delete_one(model, edge.parent, edge.child)) - whole
    return found


@dataclass(frozen=True)
class NecessaryChannels:
    """An objective that once closes dispensable channels, measured on some replays."""

    objective: GradientOf
    necessity: Necessity
    replays: Sequence[ReplayedCheckpoint]
    updates: int

    def __call__(self, model: RecoveredQModel, batch: Any, step: int) -> Mapping[str, Tensor]:
        if step == round(self.necessity.after * self.updates):
            dispensable = channel_necessity(model, self.replays) < self.necessity.least
            with torch.no_grad():
                model.channels.logit.masked_fill_(dispensable, -abs(model.config.channel_start))
        return self.objective(model, batch, step)
