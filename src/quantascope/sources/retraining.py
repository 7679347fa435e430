"""Trains again from the same initialization with a weight for every event.

    loss   Σ_e w_e L_e / N, where N is the number of events; weights of mean one keep the total

A `Retrainable` holds a network before training, one loss per event, the full batch of examples, and the training
settings. Each retraining is a separate run that can be resumed.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.programs import find_task
from quantascope.runs.config import Config, Seed
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.losses import EventLosses, ModuleLosses, event_cross_entropy
from quantascope.sources.trained import SourceConfig
from quantascope.training import History, Objective, TrainingConfig, Trajectory, train

CURVES = "curves.parquet"
Weights = Float[np.ndarray, " events"]


class RetrainingConfig(Config):
    """The source that is trained again, the settings, and a digest of the event weights."""

    KIND: ClassVar[str] = "retraining"

    source: str
    weights: str
    training: TrainingConfig
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class EventCurves:
    """The loss of every event at the evaluated steps."""

    steps: Int[np.ndarray, " evaluations"]
    losses: Float[np.ndarray, "events evaluations"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Retrainable:
    """A network that can be trained again from its initialization on the full batch of weighted events."""

    identity: str
    build: Callable[[], nn.Module]
    losses: Callable[[Any, Any], Float[Tensor, " events"]]
    event_losses: EventLosses
    """The event losses as a function of a checkpoint's named parameters."""
    examples: Any
    training: TrainingConfig
    """The loss of every event is recorded every `evaluate_every` steps."""
    seed: int = 0

    def check_weights(self, weights: Weights) -> None:
        """Raise unless there is one finite, nonnegative weight for each event."""
        with torch.no_grad():
            count = len(self.losses(self.build(), self.examples))
        if len(weights) != count:
            raise InvalidConfig(f"{len(weights)} weights are given for {count} events; give one for each")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise InvalidConfig(f"a weight is {weights.min():g}; weights are finite and not negative")

    def retrain(
        self,
        weights: Weights,
        folder: Path,
        *,
        checkpoints: tuple[int, ...] = (),
        progress: Progress | None = None,
    ) -> EventCurves:
        """Train, resume or load the run of these weights; `checkpoints` are the steps to save."""
        training = self.training.model_copy(update={"checkpoints": checkpoints})
        config = RetrainingConfig(
            source=self.identity, weights=weights_digest(weights), training=training, seed=self.seed
        )
        run = RunDirectory.open(folder, config)

        def make(run: RunDirectory) -> None:
            self.check_weights(weights)
            history = train(
                self.build(),
                batches=lambda step: self.examples,
                objective=self._objective(torch.from_numpy(weights.astype(np.float32))),
                config=training,
                seed=self.seed,
                evaluate=self._evaluate,
                run=run,
                progress=progress,
            )
            history.save(folder / CURVES, made_by=run.hash)

        run.complete([CURVES], make)
        kept = History.load(
            folder / CURVES, made_by=run.hash, steps=training.steps, values={"loss": "float events"}
        )
        return EventCurves(kept.step, kept.values["loss"].T.astype(np.float64))

    def trajectory(self, folder: Path) -> Trajectory:
        """The checkpoints of a retraining."""
        return Trajectory.open(folder)

    def _objective(self, weights: Float[Tensor, " events"]) -> Objective:
        def weighted(losses: Tensor, examples: Any, step: int) -> Tensor:
            return (weights * losses).mean()

        return Objective(forward=self.losses, terms={"weighted_loss": weighted})

    @torch.no_grad()
    def _evaluate(self, model: nn.Module) -> dict[str, np.ndarray]:
        return {"loss": self.losses(model, self.examples).numpy()}


def weights_digest(weights: Weights) -> str:
    """A hash of weights."""
    return hashlib.sha256(np.ascontiguousarray(weights, dtype=np.float64).tobytes()).hexdigest()


def retrainable_source(config: SourceConfig) -> Retrainable:
    """The Transformer of a source as a `Retrainable`; losses are recorded at the ends of its intervals."""
    if config.spacing != "equal":
        raise InvalidConfig(f"a source that is trained again needs spacing=equal, not {config.spacing}")
    if config.batch or config.measured_on not in (None, config.trained_on):
        raise InvalidConfig(
            "a source that is trained again learns all its examples at once and is measured on them; leave out "
            f"batch={config.batch} and measured_on={config.measured_on}"
        )
    if config.steps % config.intervals:
        raise InvalidConfig(
            f"{config.steps} steps are not divisible into {config.intervals} intervals; choose a divisor"
        )
    task = find_task(config.task)
    return Retrainable(
        identity=config.hash(),
        build=lambda: config.build(task),
        losses=event_cross_entropy,
        event_losses=ModuleLosses(config.build(task)),
        examples=task.events(task.panel(config.trained_on)),
        training=TrainingConfig(
            steps=config.steps,
            optimizer=config.optimizer,
            schedule=config.schedule,
            evaluate_every=config.steps // config.intervals,
        ),
        seed=config.seed,
    )
