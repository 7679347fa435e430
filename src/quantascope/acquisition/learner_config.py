"""Configs of learners: one network, or networks of several widths on one stream of batches."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import model_validator

from quantascope.models import Cohort, MLPConfig, MuMLPConfig, TaskMLP
from quantascope.runs.config import Config, Depth, Distinct, Positive, Seed, Width
from quantascope.runs.run_directory import read_settings
from quantascope.tasks.hsp import (
    AuthorsBatches,
    Batch,
    Family,
    FlatFamily,
    Forest,
    FreshBatches,
    Panel,
    RegularFamily,
    authors_panel,
    authors_shared_panel,
    balanced_panel,
    build_forest,
    random_panel,
)
from quantascope.training import TrainingConfig


class Learner(Config):
    """Task-conditioned MLPs on i.i.d. batches of a forest, and the panel that they are evaluated on."""

    family: Family
    training: TrainingConfig = TrainingConfig()
    batch_size: Positive = 512
    panel_inputs: Positive = 256
    model_seed: Seed = 0
    data_seed: Seed = 7000
    panel_seed: Seed = 10_000

    @property
    def forest(self) -> Forest:
        """The forest that is learned."""
        return forest_of(self.family)  # pyright: ignore[reportArgumentType]: frozen configs are hashable

    @property
    @abstractmethod
    def networks(self) -> Sequence[MLPConfig]:
        """The shape of each network."""

    @abstractmethod
    def build(self) -> TaskMLP | Cohort:
        """The network or networks before training."""

    @abstractmethod
    def panel(self) -> Panel:
        """The held-out inputs of every task."""

    @property
    def distinct_batches(self) -> int | None:
        """Number of batches before they repeat; None if all are fresh."""
        return None

    def batches(self) -> Callable[[int], Batch]:
        """The fresh batch of each step."""
        return FreshBatches(self.forest, batch_size=self.batch_size, seed=self.data_seed)


class HSPLearner(Learner):
    """One network on fresh batches, evaluated on an exactly balanced panel.

    The paper's draws of batches and panel are those of its released code. There the panel of regular trees asks
    every task about the same random inputs, and a batch may be drawn in parts of `drawn_at_once` examples.
    """

    KIND: ClassVar[str] = "forest"
    LATER: ClassVar[tuple[str, ...]] = ("draws", "drawn_at_once")

    family: Family = FlatFamily()
    model: MLPConfig = MLPConfig()
    draws: Literal["ours", "paper"] = "ours"
    drawn_at_once: Positive | None = None

    @model_validator(mode="after")
    def _refuse_parts_of_our_draws(self) -> "HSPLearner":
        if self.drawn_at_once and self.draws != "paper":
            raise ValueError(f"drawn_at_once={self.drawn_at_once} has no effect on our draws; set draws=paper")
        return self

    @property
    def networks(self) -> Sequence[MLPConfig]:
        """The shape of the one network."""
        return (self.model,)

    def build(self) -> TaskMLP:
        """The network before training."""
        return _network(self.forest, self.model, self.model_seed)

    def panel(self) -> Panel:
        """A panel balanced over everything that a task reads, so that averages are expectations."""
        drawn = balanced_panel
        if self.draws == "paper":
            drawn = authors_shared_panel if isinstance(self.family, RegularFamily) else authors_panel
        return drawn(self.forest, inputs=self.panel_inputs, seed=self.panel_seed)

    def batches(self) -> Callable[[int], Batch]:
        """The fresh batch of each step."""
        if self.draws == "paper":
            return AuthorsBatches(
                self.forest, batch_size=self.batch_size, seed=self.data_seed, at_once=self.drawn_at_once
            )
        return super().batches()


class CohortLearner(Learner):
    """Networks under muP, one for each width, evaluated on a random panel.

    With `examples`, there are only that many distinct examples, repeated in the same order.
    """

    KIND: ClassVar[str] = "forest, several widths"

    family: RegularFamily = RegularFamily()  # pyright: ignore[reportIncompatibleVariableOverride]: frozen
    widths: Annotated[tuple[Width, ...], Distinct] = (8, 16, 24, 32, 48, 64, 96, 128, 256, 512)
    hidden_layers: Depth = 5
    base_width: Width = 8
    batch_size: Positive = 16_384
    examples: Positive | None = None

    @model_validator(mode="after")
    def _refuse_parts_of_batches(self) -> "CohortLearner":
        if self.examples is not None and self.examples % self.batch_size:
            raise ValueError(
                f"{self.examples} examples are no whole number of batches of {self.batch_size}; take a multiple"
            )
        return self

    @property
    def networks(self) -> Sequence[MLPConfig]:
        """The shape of each network."""
        return [
            MuMLPConfig(width=width, hidden_layers=self.hidden_layers, base_width=self.base_width)
            for width in self.widths
        ]

    def build(self) -> Cohort:
        """The networks before training; all widths share one seed."""
        return Cohort([_network(self.forest, config, self.model_seed) for config in self.networks])

    def panel(self) -> Panel:
        """The same inputs for every task, because deep tasks read too many sensors for a balanced panel."""
        return random_panel(self.forest, inputs=self.panel_inputs, seed=self.panel_seed)

    @property
    def distinct_batches(self) -> int | None:
        """Number of batches before they repeat; None if all are fresh."""
        return self.examples // self.batch_size if self.examples else None


def read_learner(file: Path | None, *, seed: int | None) -> HSPLearner:
    """The config in a JSON file, or the default; a given seed sets the seeds of network and batches."""
    learner = HSPLearner.parse(read_settings(file))
    if seed is None:
        return learner
    return learner.replace({"model_seed": seed, "data_seed": learner.data_seed + seed})


@lru_cache(maxsize=64)
def forest_of(family: Family) -> Forest:
    """The forest of a family (cached, because many runs of a sweep share it)."""
    return build_forest(family)


def _network(forest: Forest, config: MLPConfig, seed: int) -> TaskMLP:
    return TaskMLP(sensors=forest.sensors, tasks=len(forest.tasks), config=config, seed=seed)
