"""Loss against examples at one width (paper, section 4.3, figure 5b; appendices D.3 and D.4).

Examples are fresh, so D = batch × steps runs along one trajectory. The fit starts at the third acquisition event
and ends at the best loss before patience runs out; the two halves of this window are also fitted, because a
good fit over all of it does not show that the exponent is constant. The prediction is L ∝ D^(−α/(1+α)).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import model_validator

from quantascope.acquisition.learner import CohortLearner, LearningCurves
from quantascope.claims.cost import total_cost
from quantascope.claims.demand_level import (
    BETAS,
    at_alpha,
    at_level,
    full_cohort,
    key_of,
    paper_training,
    quick_cohort,
    refuse_equal_names,
)
from quantascope.claims.hsp_claim import hsp_claim
from quantascope.claims.parameter_scaling import MILLION
from quantascope.claims.result import Estimate
from quantascope.claims.scaling_figures import (
    Points,
    exponent_of_runs,
    form_figures_of_runs,
    level_figures,
    loss_at_count,
)
from quantascope.runs.config import Config, Distinct, Positive, PositiveFloat, Seeds
from quantascope.runs.errors import InvalidConfig
from quantascope.scaling import (
    LearningWindow,
    PowerLawFit,
    fractional,
    learning_window,
    median_of_neighbours,
    power_law_or_nothing,
    reconstructed,
)
from quantascope.tasks.hsp import RegularFamily
from quantascope.theory import data_exponent, exponent

Curves = Mapping[str, LearningCurves]


class DataScaling(Config):
    """One width, several levels, and the rule of the window; all of it is fixed before a run."""

    learner: CohortLearner
    betas: Annotated[tuple[PositiveFloat, ...], Distinct] = BETAS
    seeds: Seeds = (0, 1, 2)
    start_event: Positive = 3
    patience: Positive = 10
    improvement: PositiveFloat = 5e-4

    @model_validator(mode="after")
    def _refuse_several_widths(self) -> "DataScaling":
        if len(self.learner.widths) != 1:
            raise ValueError(f"this claim follows one network, not the widths {self.learner.widths}; give one")
        refuse_equal_names([self.alpha(beta) for beta in self.betas])
        return self

    def alpha(self, beta: float) -> float:
        """The prescribed demand exponent."""
        return exponent(self.learner.family.branching, beta)


def runs(config: DataScaling) -> dict[str, CohortLearner]:
    """A run for each level and seed."""
    return {
        _label(config, beta, seed): at_level(config.learner, beta, seed)
        for beta in config.betas
        for seed in config.seeds
    }


def _label(config: DataScaling, beta: float, seed: int) -> str:
    return f"alpha-{config.alpha(beta):.3f}-seed-{seed}"


@dataclass(frozen=True, eq=False)
class DataTrajectory:
    """One trajectory with its window."""

    config: DataScaling
    curves: LearningCurves

    @cached_property
    def loss(self) -> Float[np.ndarray, " evaluations"]:
        """Held-out loss, smoothed by the median of each value and its neighbours."""
        return median_of_neighbours(self.curves.loss[:, 0])

    @property
    def examples(self) -> Float[np.ndarray, " evaluations"]:
        """D = batch × steps."""
        return self.curves.step.astype(float) * self.curves.config.batch_size

    @cached_property
    def count(self) -> Float[np.ndarray, " evaluations"]:
        """K, acquired functions."""
        return self.curves.acquired[:, 0].sum(-1).astype(float)

    @cached_property
    def window(self) -> LearningWindow:
        """The central learning regime."""
        rule = self.config
        return learning_window(
            self.loss,
            self.count.astype(np.int64),
            start_event=rule.start_event,
            patience=rule.patience,
            improvement=rule.improvement,
        )

    @cached_property
    def learned(self) -> bool:
        """Whether there is such a window: enough acquisitions, and enough evaluations after them."""
        try:
            return self.window is not None
        except InvalidConfig:
            return False

    @property
    def halves(self) -> tuple[LearningWindow, LearningWindow]:
        """The window's two halves."""
        return self.window.halves(self.curves.step)

    def fit(self, window: LearningWindow) -> PowerLawFit:
        """Fit of the loss against examples in a window."""
        return power_law_or_nothing(self.examples[window.rows], self.loss[window.rows])

    def points(self) -> Points:
        """The fitted evaluations, inside the window; None if there is no window."""
        curves, forest = self.curves, self.curves.forest
        rows = self.window.rows if self.learned else slice(0, 0)
        soft_count = curves.soft_count[:, 0]
        predicted = {
            **loss_at_count(forest, self.count, soft_count),
            "reconstructed": reconstructed(forest, curves.acquired[:, 0]),
            "fractional": fractional(forest, curves.coefficient[:, 0]),
        }
        return Points(
            self.examples[rows],
            self.loss[rows],
            self.count[rows],
            soft_count[rows],
            {name: loss[rows] for name, loss in predicted.items()},
        )

    def million_steps(self, index: int) -> float:
        """The step of an evaluation in millions."""
        return float(self.curves.step[index]) / MILLION


def trajectories(config: DataScaling, curves: Curves, beta: float) -> list[DataTrajectory]:
    """The trajectories of a level, one for each seed."""
    return [DataTrajectory(config, curves[_label(config, beta, seed)]) for seed in config.seeds]


def measure(config: DataScaling, curves: Curves) -> dict[str, Estimate]:
    """The paper's figures at each level, and the finite-system prediction beside them.

    A run that never reaches the window is left undefined; raises if no run does.
    """
    figures: dict[str, Estimate] = {}
    r2, spans = [], []
    levels = {beta: trajectories(config, curves, beta) for beta in config.betas}
    if not any(t.learned for found in levels.values() for t in found):
        _ = levels[config.betas[0]][0].window  # says why
    for beta, found in levels.items():
        figures |= _level_figures(config.alpha(beta), found)
        r2.append(_each(found, lambda t: t.fit(t.window).r2))
        spans.append(_each(found, _span))
    over = Estimate.over_runs
    figures["r2_across_alphas"] = over("mean R² of the fits at all levels", np.mean(r2, axis=0))
    figures["half_window_span"] = over("factor in examples that half a window spans", np.mean(spans, axis=0), "×")
    return figures


def _each(found: Sequence[DataTrajectory], read: Callable[[DataTrajectory], float]) -> list[float]:
    """A figure of every trajectory, NaN if it has no window."""
    return [read(one) if one.learned else np.nan for one in found]


def _span(trajectory: DataTrajectory) -> float:
    first, last = trajectory.window.first, trajectory.window.last
    return float(np.sqrt(trajectory.curves.step[last] / trajectory.curves.step[first]))


def _level_figures(alpha: float, found: Sequence[DataTrajectory]) -> dict[str, Estimate]:
    key, over = key_of(alpha), Estimate.over_runs
    points, each = [one.points() for one in found], partial(_each, found)
    figures = {
        f"earlier_slope_{key}": over("exponent in the earlier half", each(lambda t: t.fit(t.halves[0]).exponent)),
        f"later_slope_{key}": over("exponent in the later half", each(lambda t: t.fit(t.halves[1]).exponent)),
    }
    ends = {
        "window_start": ("first step of the window", each(lambda t: t.million_steps(t.window.first))),
        "window_end": ("last step of the window", each(lambda t: t.million_steps(t.window.last))),
        "earlier_end": ("last step of its earlier half", each(lambda t: t.million_steps(t.halves[0].last))),
        "later_start": ("first step of its later half", each(lambda t: t.million_steps(t.halves[1].first))),
    }
    for name, (says, steps) in ends.items():
        figures[f"{name}_{key}"] = over(says, steps, "M steps")
    final = [np.nan if t.curves.diverged.any() else t.count[-1] for t in found]
    figures[f"acquired_{key}"] = over("functions acquired in the end", final, "functions")
    target = over("predicted exponent α/(1 + α)", [data_exponent(alpha)])
    shared = level_figures(alpha, target, "examples", points, exponent_of_runs)
    return shared | at_alpha(alpha, figures | form_figures_of_runs(key, points))


CLAIM = hsp_claim(
    name="data-scaling",
    says="loss falls with examples as a power law with exponent α/(1 + α)",
    presets={
        "quick": DataScaling(
            learner=quick_cohort(widths=(64,), steps=3_000, evaluate_every=50),
            seeds=(0, 1),
        ),
        "full": DataScaling(
            learner=full_cohort(
                RegularFamily(roots=4, depth=6, pool=36), widths=(96,), steps=16_000, evaluate_every=200
            ),
        ),
        "paper": DataScaling(
            learner=CohortLearner(
                family=RegularFamily(depth=8),
                widths=(2048,),
                hidden_layers=8,
                batch_size=4_096,
                training=paper_training(
                    steps=10 * MILLION,
                    evaluate_every=100_000,
                    checkpoints=tuple(range(0, 10 * MILLION + 1, MILLION)),
                ),
            ),
            seeds=(0,),
        ),
    },
    runs=runs,
    measure=measure,
    cost=total_cost,
)
