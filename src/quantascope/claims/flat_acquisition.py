"""Sharp acquisitions under a smooth loss, in the order of demand (paper, section 4.2, figure 2a; appendix A.3).

64 unrelated parities are queried at frequencies 1/rank. Each is acquired abruptly, at its own time; their weighted
mean falls smoothly. Frequent tasks tend to come first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from quantascope.acquisition import ClockFit, fit_clock, rank_correlation, transition_breadth
from quantascope.acquisition.learner import HSPLearner, LearningCurves
from quantascope.claims.forecasts import forecast_figures, forecast_tasks
from quantascope.claims.hsp_claim import hsp_claim, learning, quick_learner, with_model_seed
from quantascope.claims.result import Estimate
from quantascope.models import MLPConfig
from quantascope.runs.config import Config, Count, Seeds
from quantascope.tasks.hsp import FlatFamily

Curves = Mapping[str, LearningCurves]
FlatLearner = Annotated[HSPLearner, AfterValidator(learning(FlatFamily))]


class FlatAcquisition(Config):
    """Independent runs, and runs that vary only the network or only the rank assignment of the first of them."""

    learner: FlatLearner = HSPLearner()
    seeds: Seeds = (0, 1, 2, 3, 4, 5, 6, 7, 8)
    varied: tuple[Count, ...] = (1, 2)


PAPER_LEARNER = HSPLearner(
    family=FlatFamily(draws="paper"), model=MLPConfig(initialization="paper"), data_seed=1000, draws="paper"
)
"""The draws of the released module that appears to fit; no script of the displayed run is public."""


def runs(config: FlatAcquisition) -> dict[str, HSPLearner]:
    """One run per setting, the displayed one first."""
    first = config.seeds[0]
    pairs = [(seed, seed) for seed in config.seeds]
    pairs += [(seed, first) for seed in config.varied] + [(first, seed) for seed in config.varied]
    return {
        _label(model, rank): config.learner.model_copy(
            update={
                "family": config.learner.family.model_copy(update={"rank_seed": rank}),
                **with_model_seed(config.learner, model),
            }
        )
        for model, rank in pairs
    }


def independent(config: FlatAcquisition, curves: Curves) -> list[LearningCurves]:
    """The runs that share neither network nor rank assignment."""
    return [curves[_label(seed, seed)] for seed in config.seeds]


def _label(model: int, rank: int) -> str:
    return f"model-{model}-ranks-{rank}"


def acquired(curves: LearningCurves) -> float:
    """How many tasks were acquired."""
    return float(curves.times.acquired.sum())


def last_acquired_step(curves: LearningCurves) -> float:
    """When the last task was acquired; undefined if some never was."""
    return float(curves.times.step.max())


def all_exact_step(curves: LearningCurves) -> float:
    """The first evaluation at which every task is exact; undefined if there is none."""
    exact = curves.history.values["exact"].all(1)
    return float(curves.history.step[exact.argmax()]) if exact.any() else np.nan


def spearman(curves: LearningCurves) -> float:
    """Rank correlation of frequency and acquisition time."""
    return rank_correlation(curves.times.step, curves.forest.task_probability)


def task_breadth(curves: LearningCurves) -> float:
    """Median transition breadth of the acquired tasks; undefined if there are none."""
    breadths = transition_breadth(curves.history.step, curves.task_loss[:, curves.times.acquired])
    return float(np.median(breadths)) if breadths.size else np.nan


def breadth_ratio(curves: LearningCurves) -> float:
    """Transition breadth of the weighted loss over that of the median task."""
    return float(transition_breadth(curves.history.step, curves.loss[:, None])[0]) / task_breadth(curves)


def measure(config: FlatAcquisition, curves: Curves) -> dict[str, Estimate]:
    """The paper's figures, each over the runs that vary what it varied, and the forecasts."""
    first, free = config.seeds[0], independent(config, curves)
    by_model = [curves[_label(seed, first)] for seed in (first, *config.varied)]
    by_ranks = [curves[_label(first, seed)] for seed in (first, *config.varied)]

    def over(
        chosen: Sequence[LearningCurves], says: str, value: Callable[[LearningCurves], float], unit: str = ""
    ) -> Estimate:
        return Estimate.over_runs(says, [value(c) for c in chosen], unit)

    figures = {
        "acquired_displayed": over(free, "tasks acquired", acquired, "tasks"),
        "last_acquired_step_displayed": over(free, "step of the last acquisition", last_acquired_step, "steps"),
        "all_exact_step_displayed": over(free, "first step with all tasks exact", all_exact_step, "steps"),
        "spearman_displayed": over(free, "Spearman of frequency and time", spearman),
        "clock_r2_displayed": over(free, "R² of the clock", lambda c: _clock(c).r2),
        "clock_gamma": over(free, "exponent γ of the clock", lambda c: _clock(c).gamma),
        "breadth_ratio_displayed": over(
            free, "breadth of the weighted loss over the median task", breadth_ratio, "×"
        ),
        "task_breadth": over(free, "median breadth of a task", task_breadth, "steps"),
    }
    for seed in config.varied:
        figures |= {
            f"acquired_model_seed_{seed}": over(by_model, "tasks acquired, over model seeds", acquired, "tasks"),
            f"spearman_model_seed_{seed}": over(by_model, "Spearman, over model seeds", spearman),
            f"acquired_rank_assignment_{seed}": over(by_ranks, "tasks acquired, over ranks", acquired, "tasks"),
            f"spearman_rank_assignment_{seed}": over(by_ranks, "Spearman, over ranks", spearman),
        }
    return figures | forecast_figures([forecast_tasks(c) for c in free])


def _clock(curves: LearningCurves) -> ClockFit:
    return fit_clock(curves.times.step, curves.forest.task_probability)


CLAIM = hsp_claim(
    name="flat-acquisition",
    says="tasks are acquired one by one, sharply, in the order of demand; their mean loss is smooth",
    presets={
        "quick": FlatAcquisition(
            learner=quick_learner(FlatFamily(tasks=32, pool=16, distractors=16), steps=6_000),
            seeds=(0, 1),
            varied=(),
        ),
        "full": FlatAcquisition(),
        "paper": FlatAcquisition(learner=PAPER_LEARNER, seeds=(0,)),
    },
    runs=runs,
    measure=measure,
)
