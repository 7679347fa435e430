"""Loss against examples at one width (paper, section 4.3, figure 5b; appendices D.3 and D.4).

Examples are fresh, so D = batch × steps runs along one trajectory. The fit starts at the third acquisition event
and ends at the best loss before patience runs out; the same window is then halved to show how little a good fit
over all of it says about a stationary exponent. The prediction is L ∝ D^(−α/(1+α)).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import model_validator

from quantascope.config import Config, Distinct, Positive, PositiveFloat, Seeds
from quantascope.experiments.claim import Claim
from quantascope.experiments.cohort_learner import CohortCurves, CohortLearner, learn, prepare
from quantascope.experiments.cost import total_cost
from quantascope.experiments.demand_level import BETAS, PREDICTIONS, at_level, key_of
from quantascope.experiments.parameter_scaling import MILLION
from quantascope.experiments.result import Estimate
from quantascope.scaling import (
    FEWEST,
    LearningWindow,
    PowerLawFit,
    compare_forms,
    compositional_order,
    direct_order,
    fit_power_law,
    fractional,
    learning_window,
    loss_after,
    median_of_neighbours,
    reconstructed,
)
from quantascope.tasks.hsp import RegularFamily
from quantascope.theory import data_exponent, exponent
from quantascope.training import OptimizerConfig, TrainingConfig

Curves = Mapping[str, CohortCurves]


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
    curves: CohortCurves

    @cached_property
    def loss(self) -> Float[np.ndarray, " evaluations"]:
        """Held-out loss, each the median of itself and its neighbours."""
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

    @property
    def halves(self) -> tuple[LearningWindow, LearningWindow]:
        """The window's two halves."""
        return self.window.halves(self.curves.step)

    def fit(self, window: LearningWindow, values: Float[np.ndarray, " evaluations"] | None = None) -> PowerLawFit:
        """Fit of the loss, or of other values, against examples in a window."""
        values = self.loss if values is None else values
        return fit_power_law(self.examples[window.rows], values[window.rows])

    def slope(self, window: LearningWindow, values: Float[np.ndarray, " evaluations"] | None = None) -> float:
        """Its exponent; undefined for a half that holds fewer than three evaluations."""
        return self.fit(window, values).exponent if window.last - window.first >= 2 else np.nan

    @cached_property
    def foretold(self) -> dict[str, Float[np.ndarray, " evaluations"]]:
        """Losses that are compared with the measured ones, by the names of `PREDICTIONS`."""
        forest, curves = self.curves.forest, self.curves
        return {
            "predicted": loss_after(forest, compositional_order(forest), self.count),
            "predicted_direct": loss_after(forest, direct_order(forest), self.count),
            "predicted_soft": loss_after(forest, compositional_order(forest), curves.soft_count[:, 0]),
            "reconstructed": reconstructed(forest, curves.acquired[:, 0]),
            "fractional": fractional(forest, curves.coefficient[:, 0]),
        }

    def million_steps(self, index: int) -> float:
        """The step of an evaluation in millions."""
        return float(self.curves.step[index]) / MILLION


def trajectories(config: DataScaling, curves: Curves, beta: float) -> list[DataTrajectory]:
    """The trajectories of a level, one for each seed."""
    return [DataTrajectory(config, curves[_label(config, beta, seed)]) for seed in config.seeds]


def measure(config: DataScaling, curves: Curves) -> dict[str, Estimate]:
    """The paper's figures at each level, and the finite-system prediction beside them."""
    figures: dict[str, Estimate] = {}
    r2, spans = [], []
    for beta in config.betas:
        found = trajectories(config, curves, beta)
        figures |= _level_figures(config.alpha(beta), found)
        r2.append([t.fit(t.window).r2 for t in found])
        spans.append([_span(t) for t in found])
    over = Estimate.over_runs
    figures["r2_across_alphas"] = over("mean R² of the fits at all levels", np.mean(r2, axis=0))
    figures["half_window_span"] = over("factor in examples that half a window spans", np.mean(spans, axis=0), "×")
    return figures


def _span(trajectory: DataTrajectory) -> float:
    first, last = trajectory.window.first, trajectory.window.last
    return float(np.sqrt(trajectory.curves.step[last] / trajectory.curves.step[first]))


def _level_figures(alpha: float, found: Sequence[DataTrajectory]) -> dict[str, Estimate]:
    key, target, over = key_of(alpha), data_exponent(alpha), Estimate.over_runs
    slopes = [t.slope(t.window) for t in found]
    figures = {
        f"target_{key}": over("predicted exponent α/(1 + α)", [target]),
        f"exponent_{key}": over(f"exponent of loss against examples, α = {alpha:.3f}", slopes),
        f"relative_error_{key}": over(
            "error of the exponent relative to its target", [100 * abs(s - target) / target for s in slopes], "%"
        ),
        f"r2_{key}": over("R² of the log-log fit", [t.fit(t.window).r2 for t in found]),
        f"earlier_slope_{key}": over("exponent in the earlier half", [t.slope(t.halves[0]) for t in found]),
        f"later_slope_{key}": over("exponent in the later half", [t.slope(t.halves[1]) for t in found]),
    }
    ends = {
        "window_start": [t.window.first for t in found],
        "window_end": [t.window.last for t in found],
        "earlier_end": [t.halves[0].last for t in found],
        "later_start": [t.halves[1].first for t in found],
    }
    for name, rows in ends.items():
        steps = [t.million_steps(row) for t, row in zip(found, rows, strict=True)]
        figures[f"{name}_{key}"] = over(name.replace("_", " of the ") + " of the window", steps, "M steps")
    for name, text in PREDICTIONS.items():
        figures[f"{name}_{key}"] = over(text, [t.slope(t.window, t.foretold[name]) for t in found])
        figures[f"{name}_log_error_{key}"] = over(
            f"{text}: rms log error of its losses", [_log_error(t, t.foretold[name]) for t in found], "nats"
        )
    forms = [compare_forms(t.examples[t.window.rows], t.loss[t.window.rows]) for t in found]
    figures |= {
        f"exponent_by_count_{key}": over("exponent of loss against K", [_by(t, t.count) for t in found]),
        f"exponent_by_soft_count_{key}": over(
            "exponent of loss against the soft count", [_by(t, t.curves.soft_count[:, 0]) for t in found]
        ),
        f"exponential_excess_{key}": over(
            "AICc of an exponential above that of a power law", [form.exponential_excess for form in forms]
        ),
        f"broken_excess_{key}": over(
            "AICc of a broken power law above that of a power law", [form.broken_excess for form in forms]
        ),
    }
    figures[f"frontier_{key}"] = over("exponent of K against examples", [_frontier(t) for t in found])
    figures[f"acquired_{key}"] = over("functions acquired in the end", [t.count[-1] for t in found], "functions")
    return figures


def _log_error(trajectory: DataTrajectory, values: Float[np.ndarray, " evaluations"]) -> float:
    rows = trajectory.window.rows
    return float(np.sqrt(np.mean(np.log(values[rows] / trajectory.loss[rows]) ** 2)))


def _by(trajectory: DataTrajectory, count: Float[np.ndarray, " evaluations"]) -> float:
    """Exponent of loss against a count; undefined where the window sees fewer than three different ones."""
    rows = trajectory.window.rows
    if len(np.unique(count[rows])) < FEWEST:
        return np.nan
    return fit_power_law(count[rows], trajectory.loss[rows]).exponent


def _frontier(trajectory: DataTrajectory) -> float:
    rows = trajectory.window.rows
    return -fit_power_law(trajectory.examples[rows], np.maximum(trajectory.count[rows], 0.5)).exponent


CLAIM = Claim(
    name="data-scaling",
    says="loss falls with examples as a power law with exponent α/(1 + α)",
    presets={
        "quick": DataScaling(
            learner=CohortLearner(
                family=RegularFamily(roots=2, depth=3, pool=12),
                widths=(64,),
                hidden_layers=2,
                batch_size=256,
                training=TrainingConfig(
                    steps=3_000, evaluate_every=50, optimizer=OptimizerConfig(name="adam", learning_rate=1e-2)
                ),
            ),
            seeds=(0, 1),
        ),
        "full": DataScaling(
            learner=CohortLearner(
                family=RegularFamily(roots=4, depth=6, pool=36),
                widths=(96,),
                hidden_layers=3,
                batch_size=512,
                training=TrainingConfig(
                    steps=16_000, evaluate_every=200, optimizer=OptimizerConfig(name="adam", learning_rate=1e-2)
                ),
            ),
        ),
        "paper": DataScaling(
            learner=CohortLearner(
                family=RegularFamily(depth=8),
                widths=(2048,),
                hidden_layers=8,
                batch_size=4_096,
                training=TrainingConfig(
                    steps=10 * MILLION,
                    evaluate_every=100_000,
                    checkpoints=tuple(range(0, 10 * MILLION + 1, MILLION)),
                    optimizer=OptimizerConfig(name="sgd", learning_rate=0.0075),
                ),
            ),
            seeds=(0,),
        ),
    },
    runs=runs,
    prepare=prepare,
    work=learn,
    steps=lambda learner: learner.training.steps,
    measure=measure,
    cost=total_cost,
)
