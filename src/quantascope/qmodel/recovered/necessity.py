"""Channels chosen by measured necessity: a dense fit, each sender deleted alone, and a fit without the others.

All channels are open until share `after` of the updates. Then the necessity of each quantum's messages is
measured: the rise of KL(source ‖ Q), in nats per event, when no later quantum receives them. If it is below
`least`, all of the quantum's channels are closed. So a quantum is heard by every later quantum or by none, as a
block's update is in the stream of the source. No channel is trained.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantascope.qmodel.recovered.loss import ReplayedCheckpoint, divergence
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.surgery import NO_SURGERY, Surgery
from quantascope.runs.config import Config, PositiveFloat, Share
from quantascope.training.objective import GradientOf


class Necessity(Config):
    """When senders are chosen, and the least necessity of one that stays."""

    after: Share = 0.6
    least: PositiveFloat = 0.02


@torch.no_grad()
def necessity(
    model: RecoveredQModel, replays: Sequence[ReplayedCheckpoint], cuts: Iterable[Bool[Tensor, "quanta quanta"]]
) -> Float[Tensor, " cuts"]:
    """The rise of the divergence, mean over replays, under each cut of channels."""

    def error(surgery: Surgery) -> Tensor:
        runs = (
            (model.run(one.events, interface=one.interface, existence=one.existence, surgery=surgery), one)
            for one in replays
        )
        return torch.stack([divergence(done, one) for done, one in runs]).mean()

    whole = error(NO_SURGERY)
    return torch.stack([error(Surgery(cut=cut)) - whole for cut in cuts])


def sender_necessity(model: RecoveredQModel, replays: Sequence[ReplayedCheckpoint]) -> Float[Tensor, " quanta"]:
    """The necessity of each quantum's messages for later quanta."""
    by_sender = torch.eye(len(model.layers), dtype=torch.bool, device=model.gate.device)
    return necessity(model, replays, (sender.expand_as(by_sender) for sender in by_sender))


@dataclass(frozen=True)
class NecessaryChannels:
    """An objective that once closes the channels of dispensable senders, measured on some replays."""

    objective: GradientOf
    necessity: Necessity
    replays: Sequence[ReplayedCheckpoint]
    updates: int

    def __call__(self, model: RecoveredQModel, batch: Any, step: int) -> Mapping[str, Tensor]:
        if step == round(self.necessity.after * self.updates):
            dispensable = sender_necessity(model, self.replays) < self.necessity.least
            with torch.no_grad():
                model.channels.logit.masked_fill_(dispensable, -abs(model.config.channel_start))
        return self.objective(model, batch, step)
