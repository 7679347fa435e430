"""Networks of several widths learning one forest from one stream of batches: the run of the scaling claims."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import model_validator

from quantascope.acquisition import THRESHOLD, evaluate_panel
from quantascope.acquisition.learner import METRICS, LatestCount
from quantascope.models import Cohort, MuMLPConfig, TaskMLP
from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.config import Config, Count, Distinct, Positive
from quantascope.runs.errors import Diverged
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.tasks.hsp import Batch, Forest, FreshBatches, Panel, RegularFamily, build_forest, random_panel
from quantascope.training import History, Pace, TrainingConfig, train


class CohortLearner(Config):
    """Task-conditioned MLPs under muP, one for each width.

    With `examples`, there are only so many distinct ones, which come again in the same order.
    """

    KIND: ClassVar[str] = "forest, several widths"

    family: RegularFamily = RegularFamily()
    widths: Annotated[tuple[Positive, ...], Distinct] = (8, 16, 24, 32, 48, 64, 96, 128, 256, 512)
    hidden_layers: Positive = 5
    base_width: Positive = 8
    training: TrainingConfig = TrainingConfig()
    batch_size: Positive = 16_384
    examples: Positive | None = None
    panel_inputs: Positive = 256
    model_seed: Count = 0
    data_seed: Count = 7000
    panel_seed: Count = 10_000

    @model_validator(mode="after")
    def _refuse_parts_of_batches(self) -> "CohortLearner":
        if self.examples is not None and self.examples % self.batch_size:
            raise ValueError(
                f"{self.examples} examples are no whole number of batches of {self.batch_size}; take a multiple"
            )
        return self


@dataclass(frozen=True, eq=False)
class CohortCurves:
    """What was measured on a cohort while it learned; the second axis of each array is the widths."""

    config: CohortLearner
    history: History

    @cached_property
    def forest(self) -> Forest:
        """The forest that they learned."""
        return forest_of(self.config.family)

    @property
    def step(self) -> Int[np.ndarray, " evaluations"]:
        """Updates taken before each evaluation."""
        return self.history.step

    @cached_property
    def loss(self) -> Float[np.ndarray, "evaluations widths"]:
        """Held-out loss weighted by query probability, in bits."""
        return self.history.values["loss"].astype(float) @ self.forest.task_probability

    @property
    def coefficient(self) -> Float[np.ndarray, "evaluations widths tasks"]:
        """Functional coefficients."""
        return self.history.values["coefficient"]

    @cached_property
    def acquired(self) -> Bool[np.ndarray, "evaluations widths tasks"]:
        """Which tasks have a functional coefficient of at least 0.8."""
        return self.coefficient >= THRESHOLD

    @cached_property
    def soft_count(self) -> Float[np.ndarray, "evaluations widths"]:
        """Functional coefficients summed over tasks, each between zero and one."""
        return np.clip(self.coefficient.astype(float), 0, 1).sum(-1)

    @cached_property
    def parameters(self) -> Int[np.ndarray, " widths"]:
        """Trainable parameters of each network, task conditioning included."""
        return np.array([member.parameter_count for member in build_cohort(self.config, self.forest).networks()])

    @property
    def diverged(self) -> Bool[np.ndarray, " widths"]:
        """Networks whose loss was not finite at some evaluation."""
        return np.asarray(~np.isfinite(self.loss).all(0))


def forest_of(family: RegularFamily) -> Forest:
    """The forest of a family, built once: many runs of a sweep share it."""
    return _forest(family.model_dump_json())


@lru_cache(maxsize=64)
def _forest(family: str) -> Forest:
    return build_forest(RegularFamily.model_validate_json(family))


def prepare(config: CohortLearner) -> tuple[Forest, Panel]:
    """The forest and the panel of a run; refuses what cannot be built before anything is written."""
    forest = forest_of(config.family)
    return forest, random_panel(forest, inputs=config.panel_inputs, seed=config.panel_seed)


def learn(
    config: CohortLearner, path: Path, progress: Progress | None = None, pace: Pace | None = None
) -> CohortCurves:
    """Train, or take up, or just read the run of this config at `path`.

    A network alone in its run that diverges is an outcome, as it is among others: all its measurements are NaN.
    If all of several diverge, the settings are to blame.
    """
    run = RunDirectory.open(path, config)
    with run.locked():
        if not (path / METRICS).exists():
            try:
                history = _train(config, run, progress, pace)
            except Diverged:
                if len(config.widths) > 1:
                    raise
                history = _nothing_measured(config)
            write_table(path / METRICS, history.to_table(), made_by=run.hash)
        return CohortCurves(config, History.from_table(read_table(path / METRICS, made_by=run.hash)))


def build_cohort(config: CohortLearner, forest: Forest) -> Cohort:
    """The networks of a run before training; all widths share one seed."""
    shape = {"hidden_layers": config.hidden_layers, "base_width": config.base_width}
    return Cohort(
        [
            TaskMLP(
                sensors=forest.sensors,
                tasks=len(forest.tasks),
                config=MuMLPConfig(width=width, **shape),
                seed=config.model_seed,
            )
            for width in config.widths
        ]
    )


def cohort_batches(config: CohortLearner, forest: Forest, device: torch.device) -> "Batches":
    """The batches of a run, where the networks are."""
    fresh = FreshBatches(forest, batch_size=config.batch_size, seed=config.data_seed)
    return Batches(fresh, config.examples // config.batch_size if config.examples else None, device)


@dataclass(frozen=True)
class Batches:
    """A stream of fresh batches, or the first `distinct` of it again and again, on a device."""

    fresh: FreshBatches
    distinct: int | None
    device: torch.device

    def __call__(self, step: int) -> Batch:
        batch = self.fresh(step % self.distinct if self.distinct else step)
        return batch if self.device.type == "cpu" else Batch(*(column.to(self.device) for column in batch))


def cohort_objective(
    model: torch.nn.Module, batch: Batch, step: int, *, lost_above: float = math.inf
) -> dict[str, torch.Tensor]:
    """The loop's objective for a `Cohort`: the mean over the networks that have not diverged.

    A network whose loss is not finite or too large is lost for good: NaN takes the place of its parameters.
    """
    assert isinstance(model, Cohort)
    losses = model.loss_and_gradient(*batch)
    kept = torch.isfinite(losses) & (losses <= lost_above)
    for network, keep in zip(model.networks(), kept.tolist(), strict=True):
        if not keep:
            network.theta.detach().fill_(math.nan)
    return {"cross_entropy": losses[kept].mean()}


def best_device() -> torch.device:
    """A GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _train(config: CohortLearner, run: RunDirectory, progress: Progress | None, pace: Pace | None) -> History:
    device = best_device()
    forest, panel = prepare(config)
    panel = Panel(*(part.to(device) for part in (panel.signs, panel.target, panel.characters)))
    seen = LatestCount()
    return train(
        build_cohort(config, forest).to(device),
        batches=cohort_batches(config, forest, device),
        objective=partial(cohort_objective, lost_above=config.training.stop_above),
        config=config.training,
        seed=config.model_seed,
        evaluate=seen.noting(lambda model: _measure(model, panel)),
        run=run,
        progress=progress and seen.telling(progress),
        pace=pace,
    )


def _nothing_measured(config: CohortLearner) -> History:
    steps = range(0, config.training.steps, config.training.evaluate_every)
    step = np.array([*steps, config.training.steps])
    unknown = np.full(
        (len(step), len(config.widths), len(forest_of(config.family).tasks)), np.nan, dtype=np.float32
    )
    return History(step, np.full(len(step), np.nan), {"loss": unknown, "coefficient": unknown})


def _measure(model: Any, panel: Panel) -> Mapping[str, np.ndarray]:
    measured = [evaluate_panel(member, panel) for member in model.networks()]
    return {name: torch.stack([m[name] for m in measured]).cpu().numpy() for name in ("loss", "coefficient")}
