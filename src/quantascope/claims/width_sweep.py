"""Widths side by side at each demand exponent, and the checkpoint that each of them is read at."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import AfterValidator, model_validator

from quantascope.acquisition.learner import CohortLearner, LearningCurves
from quantascope.claims.demand_level import Level, at_level, refuse_equal_names
from quantascope.claims.scaling_figures import FEWEST_ACQUIRED, Points, loss_at_count
from quantascope.runs.config import Config, NonNegativeFloat, Positive, Seeds
from quantascope.runs.errors import Diverged
from quantascope.scaling import fractional, last_stable, median_ending_at, reconstructed
from quantascope.tasks.hsp import Forest

Curves = Mapping[str, LearningCurves]


def _several_levels(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    if not levels or len({level.beta for level in levels}) < len(levels):
        raise ValueError("give at least one level, and none twice")
    return levels


class ParameterScaling(Config):
    """Widths, levels and the rule that picks what is fitted; all of it is fixed before a run.

    A point of a fit is the median loss of the evaluations in the `window` steps that end at a checkpoint. A
    checkpoint is stable if that median is at most `stability_tolerance` above the lowest before it. Networks whose
    loss stopped being finite are counted, named and left out of the fits (`exclude`), or end the measurement
    (`refuse`).
    """

    learner: CohortLearner = CohortLearner()
    levels: Annotated[tuple[Level, ...], AfterValidator(_several_levels)]
    seeds: Seeds = (0, 1, 2)
    share_batches: bool = True
    window: Positive
    checkpoint_every: Positive
    stability_tolerance: NonNegativeFloat = 0.1
    diverged: Literal["exclude", "refuse"] = "exclude"

    @model_validator(mode="after")
    def _refuse_unreached(self) -> "ParameterScaling":
        steps = self.learner.training.steps
        for level in self.levels:
            if not level.first <= level.last <= steps:
                raise ValueError(f"checkpoints {level.first} to {level.last} are not within the {steps} steps")
        if len(self.learner.widths) < 3:
            raise ValueError(f"{len(self.learner.widths)} widths make no fit; give at least 3")
        if self.window < self.learner.training.evaluate_every:
            raise ValueError(
                f"a window of {self.window} steps may hold no evaluation, one being made every "
                f"{self.learner.training.evaluate_every}; widen it or evaluate more often"
            )
        refuse_equal_names([self.alpha(level) for level in self.levels])
        return self

    def alpha(self, level: Level) -> float:
        """The prescribed demand exponent of a level."""
        return level.alpha(self.learner.family.branching)


def runs(config: ParameterScaling) -> dict[str, CohortLearner]:
    """A run for each level and seed, of all widths at once or of one width each."""
    return {
        _label(config, level, seed, widths): at_level(config.learner, level.beta, seed).model_copy(
            update={"widths": widths}
        )
        for level in config.levels
        for seed in config.seeds
        for widths in _groups(config)
    }


def _groups(config: ParameterScaling) -> list[tuple[int, ...]]:
    widths = config.learner.widths
    return [widths] if config.share_batches else [(width,) for width in widths]


def _label(config: ParameterScaling, level: Level, seed: int, widths: tuple[int, ...]) -> str:
    label = f"alpha-{config.alpha(level):.3f}-seed-{seed}"
    return label if config.share_batches else f"{label}-width-{widths[0]}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """All widths of one level and seed, side by side."""

    config: ParameterScaling
    level: Level
    parts: tuple[LearningCurves, ...]

    @property
    def forest(self) -> Forest:
        """The forest that all widths learned."""
        return self.parts[0].forest

    @property
    def step(self) -> Int[np.ndarray, " evaluations"]:
        """Updates taken before each evaluation."""
        return self.parts[0].step

    @cached_property
    def parameters(self) -> Int[np.ndarray, " widths"]:
        """P of each width."""
        return np.concatenate([part.parameters for part in self.parts])

    @cached_property
    def loss(self) -> Float[np.ndarray, "evaluations widths"]:
        """Weighted held-out loss in bits; all NaN for a network that diverged."""
        loss = np.concatenate([part.loss for part in self.parts], axis=1)
        diverged = np.concatenate([part.diverged for part in self.parts])
        return np.where(diverged[None, :], np.nan, loss)

    @cached_property
    def diverged(self) -> Bool[np.ndarray, " widths"]:
        """Which networks are left out."""
        return np.asarray(np.isnan(self.loss).any(0))

    @cached_property
    def acquired(self) -> Bool[np.ndarray, "evaluations widths tasks"]:
        """Which functions each network has acquired."""
        return np.concatenate([part.acquired for part in self.parts], axis=1)

    @cached_property
    def count(self) -> Float[np.ndarray, "evaluations widths"]:
        """K, acquired functions."""
        return self.acquired.sum(-1).astype(float)

    @cached_property
    def soft_count(self) -> Float[np.ndarray, "evaluations widths"]:
        """Functional coefficients summed over functions."""
        return np.concatenate([part.soft_count for part in self.parts], axis=1)

    def at(self, values: Float[np.ndarray, "evaluations widths"], end: int) -> Float[np.ndarray, " widths"]:
        """Windowed medians of each width that end at one common step."""
        length = self.config.window
        return np.array([median_ending_at(self.step, column, end=end, length=length) for column in values.T])

    @cached_property
    def checkpoints(self) -> Int[np.ndarray, " widths"]:
        """The checkpoint that each width is read at."""
        asked = range(self.level.first, self.level.last + 1, self.config.checkpoint_every)
        rule = {"length": self.config.window, "tolerance": self.config.stability_tolerance}
        return np.array([last_stable(self.step, loss, checkpoints=asked, **rule) for loss in self.loss.T])

    def selected(
        self, values: Float[np.ndarray, "evaluations widths"], length: int | None = None
    ) -> Float[np.ndarray, " widths"]:
        """Windowed medians of each width that end at its own checkpoint."""
        length = self.config.window if length is None else length
        if not length:  # the last evaluation alone
            return np.array(
                [
                    column[np.searchsorted(self.step, end, side="right") - 1]
                    for column, end in zip(values.T, self.checkpoints, strict=True)
                ]
            )
        return np.array(
            [
                median_ending_at(self.step, column, end=int(end), length=length)
                for column, end in zip(values.T, self.checkpoints, strict=True)
            ]
        )

    def points(self) -> Points:
        """What is fitted, a point for each width; NaN for networks that diverged."""
        forest, count, soft_count = self.forest, self.selected(self.count), self.selected(self.soft_count)
        coefficient = np.concatenate([part.coefficient for part in self.parts], axis=1)
        predicted = {
            **loss_at_count(forest, count, soft_count),
            "reconstructed": self.selected(reconstructed(forest, self.acquired)),
            "fractional": self.selected(fractional(forest, coefficient)),
        }
        return Points(
            self.parameters.astype(float),
            self.selected(self.loss),
            np.maximum(self._kept(count), FEWEST_ACQUIRED),
            self._kept(soft_count),
            {name: self._kept(loss) for name, loss in predicted.items()},
        )

    def _kept(self, values: Float[np.ndarray, " widths"]) -> Float[np.ndarray, " widths"]:
        return np.where(self.diverged, np.nan, values)


def sweeps(config: ParameterScaling, curves: Curves, level: Level) -> list[Sweep]:
    """The sweeps of a level, one for each seed."""
    found = [
        Sweep(config, level, tuple(curves[_label(config, level, seed, widths)] for widths in _groups(config)))
        for seed in config.seeds
    ]
    lost = sum(int(sweep.diverged.sum()) for sweep in found)
    if lost and config.diverged == "refuse":
        raise Diverged(
            f"{lost} networks diverged at alpha {config.alpha(level):.3f}; lower the learning rate or set "
            "diverged=exclude"
        )
    return found
