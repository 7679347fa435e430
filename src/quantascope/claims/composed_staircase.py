"""A composed task is learned in steps (paper, section 4.2, figure 2b; appendix A.2).

Each task NANDs a private parity with one that eight tasks share. With one of the two known, the best loss is
exactly 1/2 bit; a task pauses there between the acquisition of its constituents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int
from pydantic import AfterValidator

from quantascope.acquisition import first_crossing
from quantascope.acquisition.learner import HSPLearner, LearningCurves
from quantascope.claims.forecasts import forecast_figures, forecast_modes
from quantascope.claims.hsp_claim import hsp_claim, learning, quick_learner
from quantascope.claims.result import Estimate
from quantascope.models import MLPConfig
from quantascope.runs.config import Config, Seeds
from quantascope.tasks.hsp import ComposedFamily
from quantascope.training import TrainingConfig

SHARED, PRIVATE = 0, 1  # levels of a task's path: the shared parity is the root


ComposedLearner = Annotated[HSPLearner, AfterValidator(learning(ComposedFamily))]


class ComposedStaircase(Config):
    """The same forest learned from several initialisations and batch streams.

    Under the paper's definitions another task is highlighted, and its shared mode crosses when the mean over the
    tasks that share it does.
    """

    LATER: ClassVar[tuple[str, ...]] = ("definitions",)

    learner: ComposedLearner = HSPLearner(family=ComposedFamily(), training=TrainingConfig(steps=30_000))
    model_seeds: Seeds = (0, 1, 2, 3, 4)
    definitions: Literal["ours", "paper"] = "ours"


PAPER_LEARNER = HSPLearner(
    family=ComposedFamily(rank_seed=3, draws="paper"),
    model=MLPConfig(initialization="paper"),
    training=TrainingConfig(steps=30_000),
    data_seed=1000,
    draws="paper",
)
"""The draws of the released script for the displayed run; they do not reproduce that run."""
HIGHLIGHTED = 3
"""The task that the paper displays without naming it: only this one has the paper's private crossing, 750."""


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
    definitions: Literal["ours", "paper"] = "ours"

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
        return np.concatenate([self._shared_by_root, self.private])

    @cached_property
    def _shared_by_root(self) -> Float[np.ndarray, " roots"]:
        """First crossing of each shared mode, as the mean over its tasks."""
        modes, owner = self.curves.history.values["modes"][:, :, SHARED], self._owner
        shared = np.stack([modes[:, owner == root].mean(1) for root in np.unique(owner)], axis=1)
        return first_crossing(self.curves.history.step, shared)

    @property
    def _owner(self) -> Int[np.ndarray, " tasks"]:
        """The root of each task."""
        return self.curves.forest.parent[self.curves.forest.tasks]

    @property
    def highlighted(self) -> int:
        """The task that the figure follows: the most frequent one, fixed before any run, or the paper's."""
        if self.definitions == "paper":
            return HIGHLIGHTED
        return int(self.curves.forest.task_probability.argmax())

    @property
    def shared_crossing(self) -> float:
        """First crossing of the shared mode of the highlighted task."""
        if self.definitions == "paper":
            roots = np.unique(self._owner).tolist()
            return float(self._shared_by_root[roots.index(self._owner[self.highlighted])])
        return float(self.shared[self.highlighted])

    @cached_property
    def plateau(self) -> Float[np.ndarray, " tasks"]:
        """Median loss of each task between its private and its shared crossing; NaN if none lies between."""
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
    stairs = [Staircase(c, config.definitions) for c in curves.values()]
    exact = [s.curves.history.values["exact"].sum(1) for s in stairs]
    over = Estimate.over_runs
    return {
        "private_crossing_step": over(
            "80 % private mode, highlighted task", [s.private[s.highlighted] for s in stairs], "steps"
        ),
        "shared_crossing_step": over(
            "80 % shared mode, highlighted task", [s.shared_crossing for s in stairs], "steps"
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
        "paper": ComposedStaircase(learner=PAPER_LEARNER, model_seeds=(0,), definitions="paper"),
    },
    runs=runs,
    measure=measure,
)
