"""A forest of parities as a fixed set of rows: a source whose units are known event by event.

Rows (task, input) are drawn once, with tasks drawn by query probability, and form one full batch. Each event can
therefore have a weight, which fresh batches do not allow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from quantascope.models import MLPConfig, TaskMLP
from quantascope.models.mlp import logits
from quantascope.runs.config import Config, Positive, Seed
from quantascope.sources.retraining import Retrainable
from quantascope.tasks.hsp import Batch, Family, Forest, FreshBatches, build_forest
from quantascope.training import TrainingConfig


class ParityRowsConfig(Config):
    """A forest, the number of drawn rows, and the network that learns them."""

    KIND: ClassVar[str] = "parity rows"

    family: Family
    rows: Positive = 2048
    model: MLPConfig = MLPConfig(width=64)
    training: TrainingConfig
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class ParityRows:
    """Drawn rows with their known units, and the network to be trained on them."""

    forest: Forest
    batch: Batch
    retrainable: Retrainable

    @property
    def task(self) -> Int[np.ndarray, " events"]:
        """The task of each event."""
        return self.batch.task.numpy()

    @property
    def label(self) -> Int[np.ndarray, " events"]:
        """The target of each row, 0 or 1."""
        return (self.batch.target.numpy() > 0).astype(np.int64)

    @property
    def units(self) -> Bool[np.ndarray, "nodes events"]:
        """The events that use each node of the forest."""
        return self.forest.requires[self.task].T


def parity_rows(config: ParityRowsConfig) -> ParityRows:
    """The rows of a config, ready to be trained on."""
    forest = build_forest(config.family)
    batch = FreshBatches(forest, batch_size=config.rows, seed=config.seed)(0)
    retrainable = Retrainable(
        identity=config.hash(),
        build=lambda: TaskMLP(
            sensors=forest.sensors, tasks=len(forest.tasks), config=config.model, seed=config.seed
        ),
        losses=lambda model, batch: row_losses(model.split(model.theta), batch),
        event_losses=row_losses,
        examples=batch,
        training=config.training,
        seed=config.seed,
    )
    return ParityRows(forest, batch, retrainable)


def row_losses(parameters: Mapping[str, Tensor], batch: Batch) -> Float[Tensor, " events"]:
    """Cross-entropy of every row, in nats, from named parameters."""
    margin = logits(parameters, batch.signs, batch.task).diff(dim=1).squeeze(1)
    return nn.functional.softplus(-margin * batch.target)
