"""One network learning one forest: the run that every HSP experiment is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from quantascope.acquisition import THRESHOLD, AcquisitionTimes, acquisition_times, evaluate_panel
from quantascope.models import MLPConfig, TaskMLP
from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.config import Config, Count, Positive
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_settings
from quantascope.tasks.hsp import (
    Batch,
    Family,
    FlatFamily,
    Forest,
    FreshBatches,
    Panel,
    balanced_panel,
    build_forest,
)
from quantascope.training import Evaluation, History, Pace, TrainingConfig, train

METRICS = "metrics.parquet"


class HSPLearner(Config):
    """A task-conditioned MLP on fresh i.i.d. batches of a forest."""

    KIND: ClassVar[str] = "forest"

    family: Family = FlatFamily()
    model: MLPConfig = MLPConfig()
    training: TrainingConfig = TrainingConfig()
    batch_size: Positive = 512
    panel_inputs: Positive = 256
    model_seed: Count = 0
    data_seed: Count = 7000
    panel_seed: Count = 10_000


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """What was measured on one network while it learned."""

    config: HSPLearner
    history: History

    @cached_property
    def forest(self) -> Forest:
        """The forest that it learned."""
        return build_forest(self.config.family)

    @property
    def task_loss(self) -> Float[np.ndarray, "evaluations tasks"]:
        """Held-out loss of each task in bits."""
        return self.history.values["loss"]

    @property
    def loss(self) -> Float[np.ndarray, " evaluations"]:
        """Held-out loss weighted by how often each task is asked, in bits."""
        return self.task_loss @ self.forest.task_probability

    def summary(self) -> dict[str, int | float]:
        """What became of the run, in four numbers."""
        return {
            "steps": self.config.training.steps,
            "tasks": len(self.forest.tasks),
            "acquired": int(self.times.acquired.sum()),
            "loss_bits": float(self.loss[-1]),
        }

    @cached_property
    def times(self) -> AcquisitionTimes:
        """When each task was acquired."""
        return acquisition_times(self.history.step, self.history.values["coefficient"])


def read_learner(file: Path | None, *, seed: int | None) -> HSPLearner:
    """The learner that a JSON file describes, or the default one; a given seed is that of network and batches."""
    learner = HSPLearner.parse(read_settings(file))
    if seed is None:
        return learner
    return learner.replace({"model_seed": seed, "data_seed": learner.data_seed + seed})


def use_threads(threads: int) -> None:
    """Let this process compute with so many threads."""
    if threads < 1:
        raise InvalidConfig(f"{threads} threads cannot compute; give at least 1")
    torch.set_num_threads(threads)


def prepare(config: HSPLearner) -> tuple[Forest, Panel]:
    """The forest and the panel of a run; refuses what cannot be built before anything is written."""
    forest = build_forest(config.family)
    return forest, balanced_panel(forest, inputs=config.panel_inputs, seed=config.panel_seed)


def learn(
    config: HSPLearner, path: Path, progress: Progress | None = None, pace: Pace | None = None
) -> LearningCurves:
    """Train, or take up, or just read the run of this config at `path`."""
    forest, panel = prepare(config)
    run = RunDirectory.open(path, config)
    with run.locked():
        if not (path / METRICS).exists():
            history = _train(config, forest, panel, run, progress, pace)
            write_table(path / METRICS, history.to_table(), made_by=run.hash)
        return LearningCurves(config, History.from_table(read_table(path / METRICS, made_by=run.hash)))


def _train(
    config: HSPLearner,
    forest: Forest,
    panel: Panel,
    run: RunDirectory,
    progress: Progress | None,
    pace: Pace | None,
) -> History:
    seen = LatestCount()
    return train(
        TaskMLP(sensors=forest.sensors, tasks=len(forest.tasks), config=config.model, seed=config.model_seed),
        batches=FreshBatches(forest, batch_size=config.batch_size, seed=config.data_seed),
        objective=task_objective,
        config=config.training,
        seed=config.model_seed,
        evaluate=seen.noting(lambda model: _measure(model, panel)),
        run=run,
        progress=progress and seen.telling(progress),
        pace=pace,
    )


class LatestCount:
    """Carries the number of acquired functions from the evaluations to the progress display."""

    acquired: int | None = None

    def noting(self, evaluate: Evaluation) -> Evaluation:
        """The same evaluation, whose count is remembered; the largest if several networks are evaluated."""

        def noted(model: Any) -> Mapping[str, np.ndarray]:
            values = evaluate(model)
            self.acquired = int((values["coefficient"] >= THRESHOLD).sum(-1).max())
            return values

        return noted

    def telling(self, progress: Progress) -> Progress:
        """The same display, told the latest count as well."""
        return lambda step, loss, acquired=None: progress(step, loss, self.acquired)


def task_objective(model: torch.nn.Module, batch: Batch, step: int) -> dict[str, torch.Tensor]:
    """The loop's objective for a `TaskMLP`: cross-entropy with the gradient that the model writes itself."""
    assert isinstance(model, TaskMLP)
    return {"cross_entropy": model.loss_and_gradient(*batch)}


def _measure(model: TaskMLP, panel: Panel) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in evaluate_panel(model, panel).items()}
