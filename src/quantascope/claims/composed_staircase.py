"""A composed task is learned in steps (paper, section 4.2, figure 2b; appendix A.2).

Each task NANDs a private parity with one that eight tasks share. With one of the two known, the best loss is
exactly 1/2 bit; a task pauses there between the acquisition of its constituents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import AfterValidator

from quantascope.acquisition import first_crossing
from quantascope.acquisition.learner import HSPLearner, LearningCurves
from quantascope.claims.forecasts import forecast_figures, forecast_modes
from quantascope.claims.hsp_claim import hsp_claim, learning, quick_learner
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Seeds
from quantascope.tasks.hsp import ComposedFamily
from quantascope.training import TrainingConfig

SHARED, PRIVATE = 0, 1  # levels of a task's path: the shared parity is the root


ComposedLearner = Annotated[HSPLearner, AfterValidator(learning(ComposedFamily))]


class ComposedStaircase(Config):
    """The same forest learned from several initialisations and batch streams."""

    learner: ComposedLearner = HSPLearner(family=ComposedFamily(), training=TrainingConfig(steps=30_000))
    model_seeds: Seeds = (0, 1, 2, 3, 4)


def runs(config: ComposedStaircase) -> dict[str, HSPLearner]:
    """One run per model seed."""
    base = config.learner
    return {
        f"model-{seed}": base.model_copy(update={"model_seed": seed, "data_seed": base.data_seed + seed})
        for seed in config.model_seeds
    }


@dataclass(frozen=True, eq=False)
class Staircase:
    """The constituents of one run's tasks, and when 80 % of each was learned."""

    curves: LearningCurves

    @cached_property
    def private(self) -> Float[np.ndarray, " tasks"]:
        """First crossing of each task's private mode."""
        return first_crossing(self.curves.history.step, self.curves.history.values["modes"][:, :, PRIVATE])

    @cached_property
    def shared(self) -> Float[np.ndarray, " tasks"]:
        """First crossing of the shared mode as each task expresses it."""
        return first_crossing(self.curves.history.step, self.curves.history.values["modes"][:, :, SHARED])

    @cached_property
    def modes(self) -> Float[np.ndarray, " nodes"]:
        """First crossing of every declared mode; a shared one counts as the mean over its tasks."""
        forest, modes = self.curves.forest, self.curves.history.values["modes"][:, :, SHARED]
        owner = forest.parent[forest.tasks]
        shared = np.stack([modes[:, owner == root].mean(1) for root in np.unique(owner)], axis=1)
        return np.concatenate([first_crossing(self.curves.history.step, shared), self.private])

    @property
    def highlighted(self) -> int:
        """The task that the figure follows: the most frequent one, fixed before any run."""
        return int(self.curves.forest.task_probability.argmax())

    @cached_property
    def plateau(self) -> Float[np.ndarray, " tasks"]:
        """Median loss of each task between its private and its shared crossing; NaN if there is no between."""
        step = self.curves.history.step[:, None]
        end = np.where(np.isnan(self.shared), np.inf, self.shared)
        between = (step >= self.private) & (step < end)
        return np.array(
            [
                np.median(loss[at]) if at.any() else np.nan
                for loss, at in zip(self.curves.task_loss.T, between.T, strict=True)
            ]
        )

    @property
    def median_plateau(self) -> float:
        """The median task's plateau."""
        known = self.plateau[np.isfinite(self.plateau)]
        return float(np.median(known)) if known.size else np.nan

    @property
    def first_exact(self) -> float:
        """First evaluation at which the highlighted task is exact."""
        exact = self.curves.history.values["exact"][:, self.highlighted]
        return float(self.curves.history.step[exact.argmax()]) if exact.any() else np.nan


def measure(config: ComposedStaircase, curves: Mapping[str, LearningCurves]) -> dict[str, Estimate]:
    """Crossings, plateau and exactness over runs, and the forecasts of the modes."""
    stairs = [Staircase(c) for c in curves.values()]
    exact = [s.curves.history.values["exact"].sum(1) for s in stairs]
    over = Estimate.over_runs
    return {
        "private_crossing_step": over(
            "80 % private mode, highlighted task", [s.private[s.highlighted] for s in stairs], "steps"
        ),
        "shared_crossing_step": over(
            "80 % shared mode, highlighted task", [s.shared[s.highlighted] for s in stairs], "steps"
        ),
        "plateau_bits": over(
            "median loss between the crossings, highlighted task",
            [s.plateau[s.highlighted] for s in stairs],
            "bits",
        ),
        "plateau_bits_all": over(
            "median loss between the crossings, median task",
            [s.median_plateau for s in stairs],
            "bits",
        ),
        "first_exact_step": over("first exact step, highlighted task", [s.first_exact for s in stairs], "steps"),
        "modes_acquired": over("modes that crossed 80 %", [np.isfinite(s.modes).sum() for s in stairs], "modes"),
        "tasks_exact_best": over("tasks exact at the best checkpoint", [e.max() for e in exact], "tasks"),
        "tasks_exact_final": over("tasks exact at the last checkpoint", [e[-1] for e in exact], "tasks"),
        "final_loss": over("weighted loss at the last checkpoint", [s.curves.loss[-1] for s in stairs], "bits"),
    } | forecast_figures([forecast_modes(s.curves.forest, s.modes) for s in stairs])


CLAIM = hsp_claim(
    name="composed-staircase",
    says="a task of two constituents pauses at its exact conditional loss between their acquisitions",
    presets={
        "quick": ComposedStaircase(
            learner=quick_learner(ComposedFamily(tasks=8, shared=2, distractors=0), steps=4_000),
            model_seeds=(0, 1),
        ),
        "full": ComposedStaircase(),
        "paper": ComposedStaircase(model_seeds=(0,)),
    },
    runs=runs,
    measure=measure,
)
