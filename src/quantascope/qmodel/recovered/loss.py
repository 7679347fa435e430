"""The targets of a recovered Q-model and its loss (paper, appendix G.1).

    reconstruction   squared error of the source's block updates over their energy, mean over layers, all tokens
    predictions      KL(source ‖ Q) at prediction events
    gates            cross-entropy with the factors' supports, balanced over the classes of a quantum
    gate_entropy     sharpens the gates
    writers          (active writers per event / target − 1)²
    channels         expected number of channels
    channel_entropy  sharpens the channels

The weights of the last four ramp up over a share of the updates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantascope.models.device import device_of
from quantascope.models.residual import Interface, ResidualModel
from quantascope.qmodel.compiled.supervision import class_weights
from quantascope.qmodel.recovered.execution import RecoveredExecution
from quantascope.qmodel.recovered.rows import selected_rows
from quantascope.runs.config import Config, NonNegativeFloat, PositiveFloat
from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class ReplayedCheckpoint:
    """One checkpoint of the source on some events: its outputs, and the existence of each quantum.

    `supports` labels the gates on the `labelled` events and has no meaning elsewhere.
    """

    events: Events
    interface: Interface
    updates: list[Float[Tensor, "tokens width"]]
    log_probability: Float[Tensor, "events vocabulary"]
    existence: Float[Tensor, " quanta"]
    supports: Bool[Tensor, "quanta events"]
    labelled: Bool[Tensor, " events"]

    @classmethod
    @torch.no_grad()
    def of(
        cls,
        source: ResidualModel,
        events: Events,
        *,
        existence: Float[Tensor, " quanta"],
        supports: Bool[Tensor, "quanta labelled"],
    ) -> "ReplayedCheckpoint":
        """Run the source once, on its device; the labelled events come first."""
        events = events.to(device_of(source))
        done = source.run(events)
        padding = supports.new_zeros(len(supports), events.count - supports.shape[1])
        return cls(
            events,
            source.interface(),
            done.updates,
            done.logits.log_softmax(-1),
            existence,
            torch.cat([supports, padding], 1),
            torch.arange(events.count, device=supports.device) < supports.shape[1],
        )

    @cached_property
    def probability(self) -> Float[Tensor, "events vocabulary"]:
        """The source's log-probabilities."""
        return self.log_probability.exp()

    @cached_property
    def entropy(self) -> Float[Tensor, ""]:
        """Mean entropy of the source's predictions over events, in nats."""
        return -(self.probability * self.log_probability).sum(-1).mean()

    @cached_property
    def energies(self) -> list[Float[Tensor, ""]]:
        """Squared norm of each block's update."""
        return [update.square().sum() for update in self.updates]

    @cached_property
    def supported(self) -> Float[Tensor, "quanta events"]:
        """The supports as floats."""
        return self.supports.float()

    @cached_property
    def gate_weights(self) -> Float[Tensor, "quanta events"]:
        """The weight of each gate label."""
        return class_weights(self.supports, self.labelled.expand_as(self.supports))

    @cached_property
    def gate_weights_by_inactive(self) -> Float[Tensor, "quanta events"]:
        """The weight of each gate label if each quantum has twice its share of inactive events as weight."""
        inactive = 1 - self.supported[:, self.labelled].mean(1, keepdim=True)
        return 2 * inactive * self.gate_weights


class Ramp(Config):
    """A factor that grows linearly from 0 to 1, from share `begin` of the updates, over share `over`.

    >>> ramp = Ramp(begin=0.5, over=0.25)
    >>> [round(ramp.at(step, 100), 2) for step in (0, 50, 60, 99)]
    [0.0, 0.0, 0.4, 1.0]
    """

    begin: NonNegativeFloat = 0.0
    over: PositiveFloat = 0.2

    def at(self, step: int, steps: int) -> float:
        """The factor of an update."""
        return min(1.0, max(0.0, (step / steps - self.begin) / self.over))


class RecoveryLoss(Config):
    """Weights of the terms; the defaults are the paper's, with its ramps as shares of 5,000 updates.

    All quanta have equal weight in the gate loss; the paper's code weights them by inactive events
    (`gates_by="inactive"`).
    """

    LATER: ClassVar[tuple[str, ...]] = ("gates_by",)

    reconstruction: NonNegativeFloat = 1.0
    predictions: NonNegativeFloat = 0.7
    gates: NonNegativeFloat = 0.25
    gate_entropy: NonNegativeFloat = 0.3
    writers: NonNegativeFloat = 1.0
    writer_target: PositiveFloat = 6.0
    channels: NonNegativeFloat = 0.0015
    channel_entropy: NonNegativeFloat = 1 / 1400
    gate_entropy_ramp: Ramp = Ramp(begin=0.11, over=0.055)
    sparsity_ramp: Ramp = Ramp()
    channel_entropy_ramp: Ramp = Ramp(begin=0.5)
    gates_by: Literal["quantum", "inactive"] = "quantum"

    def terms(self, steps: int) -> dict[str, Callable[[RecoveredExecution, ReplayedCheckpoint, int], Tensor]]:
        """The terms by name, for the training loop."""

        def sparsity(step: int) -> float:
            return self.sparsity_ramp.at(step, steps)

        return {
            "reconstruction": lambda done, batch, step: self.reconstruction * reconstruction_error(done, batch),
            "predictions": lambda done, batch, step: self.predictions * divergence(done, batch),
            "gates": lambda done, batch, step: self.gates * gate_error(done, batch, self.gates_by),
            "gate_entropy": lambda done, batch, step: (
                self.gate_entropy * self.gate_entropy_ramp.at(step, steps) * gate_entropy(done)
            ),
            "writers": lambda done, batch, step: (
                self.writers * sparsity(step) * (active_writers(done) / self.writer_target - 1) ** 2
            ),
            "channels": lambda done, batch, step: self.channels * sparsity(step) * done.channel_probability.sum(),
            "channel_entropy": lambda done, batch, step: (
                self.channel_entropy
                * self.channel_entropy_ramp.at(step, steps)
                * binary_entropy(done.channel_probability).sum()
            ),
        }


def reconstruction_error(done: RecoveredExecution, batch: ReplayedCheckpoint) -> Float[Tensor, ""]:
    """Squared error of block updates relative to their energy, mean over layers."""
    errors = [
        torch.nn.functional.mse_loss(ours, theirs, reduction="sum") / energy
        for ours, theirs, energy in zip(done.updates, batch.updates, batch.energies, strict=True)
    ]
    return torch.stack(errors).mean()


def divergence(done: RecoveredExecution, batch: ReplayedCheckpoint) -> Float[Tensor, ""]:
    """KL(source ‖ Q) in nats, mean over events."""
    return torch.nn.functional.cross_entropy(done.logits, batch.probability) - batch.entropy


def gate_error(
    done: RecoveredExecution, batch: ReplayedCheckpoint, by: Literal["quantum", "inactive"] = "quantum"
) -> Float[Tensor, ""]:
    """Class-balanced cross-entropy of gates with supports; quanta weighted equally or by inactive events."""
    weight = batch.gate_weights if by == "quantum" else batch.gate_weights_by_inactive
    return torch.nn.functional.binary_cross_entropy_with_logits(
        done.gate_at_events, batch.supported, weight=weight, reduction="sum"
    )


def gate_entropy(done: RecoveredExecution) -> Float[Tensor, ""]:
    """Entropy of the gates at events, in nats."""
    gate = done.gate_at_events
    return (torch.nn.functional.softplus(gate) - gate * gate.sigmoid()).mean()


def active_writers(done: RecoveredExecution) -> Float[Tensor, ""]:
    """Mean number of active writers per event."""
    events = done.events
    return selected_rows(done.opened.sum((0, 2)), events.event_rows).sum() / events.count


def binary_entropy(probability: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Entropy of a Bernoulli variable, in nats.

    >>> binary_entropy(torch.tensor([0.5, 1.0])).round(decimals=4)
    tensor([0.6931, 0.0000])
    """
    safe = probability.clamp(1e-7, 1 - 1e-7)
    return -(safe * safe.log() + (1 - safe) * (-safe).log1p())
