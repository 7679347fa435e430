"""Demand against conditional complexity: parents first or children first (paper, figure 3; appendix B).

Sixteen roots with two children each. A child that is queried about as often as its parent is acquired after
it; a child that is queried five times as often, before it. The loss follows the reconstruction from the functions
that were actually learned.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from quantascope.acquisition import reconstructed_loss
from quantascope.acquisition.learner import HSPLearner, LearningCurves
from quantascope.claims.forecasts import forecast_figures, forecast_tasks
from quantascope.claims.hsp_claim import TREE_DEFAULTS, hsp_claim, learning, quick_learner, with_model_seed
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Distinct, Positive, PositiveFloat, Seeds
from quantascope.tasks.hsp import DepthMass, LevelRatio, RegularFamily
from quantascope.training import TrainingConfig

Curves = Mapping[str, LearningCurves]
PAPER_SEEDS = 3  # the paper counts children over three seeds together


RegularLearner = Annotated[HSPLearner, AfterValidator(learning(RegularFamily))]


class ChildParentOrder(Config):
    """Ratios of child to parent frequency, several model seeds each."""

    learner: RegularLearner = HSPLearner(
        family=RegularFamily(roots=16, depth=1, pool=32), training=TrainingConfig(steps=8_000)
    )
    ratios: Annotated[tuple[PositiveFloat, ...], Distinct] = (1.1, 2.0, 5.0)
    model_seeds: Seeds = (0, 1, 2)
    error_through: Positive = 4_000


PAPER_LEARNER = TREE_DEFAULTS.replace({"family.roots": 16, "family.depth": 1})


def with_ratio(family: RegularFamily, ratio: float) -> RegularFamily:
    """The family in which a child is queried `ratio` times as often as its parent, by the same kind of law."""
    law = family.demand
    if isinstance(law, DepthMass):
        return family.model_copy(update={"demand": law.replace({"decay": 1 / (family.branching * ratio)})})
    return family.model_copy(update={"demand": LevelRatio(ratio=ratio)})


def runs(config: ChildParentOrder) -> dict[str, HSPLearner]:
    """Every ratio with every model seed; the supports stay the same."""
    family = config.learner.family
    assert isinstance(family, RegularFamily)  # as the config was validated
    return {
        f"ratio-{ratio}-model-{seed}": config.learner.model_copy(
            update={
                "family": with_ratio(family, ratio),
                **with_model_seed(config.learner, seed),
            }
        )
        for ratio in config.ratios
        for seed in config.model_seeds
    }


def of_ratio(curves: Curves, ratio: float) -> list[LearningCurves]:
    """The runs of one ratio."""
    return [c for name, c in curves.items() if name.startswith(f"ratio-{ratio}-")]


def child_first_share(curves: LearningCurves) -> float:
    """Share of children acquired before their parent; acquisition at the same evaluation does not count."""
    forest, step = curves.forest, np.where(curves.times.acquired, curves.times.step, np.inf)
    children = np.flatnonzero(forest.parent >= 0)
    return float(np.mean(step[children] < step[forest.parent[children]]))


def reconstruction_error(curves: LearningCurves, through: int, *, closed: bool) -> float:
    """Median absolute difference of the network's loss and its reconstruction, in bits."""
    evaluated = curves.history.step
    rebuilt = reconstructed_loss(curves.forest, curves.times.step, evaluated, closed=closed)
    return float(np.median(np.abs(rebuilt - curves.loss)[evaluated <= through]))


def reconstruction_gap(curves: LearningCurves, through: int) -> float:
    """Largest difference of the two reconstructions, in bits; zero where they coincide."""
    evaluated, step = curves.history.step, curves.times.step
    direct, closed = (reconstructed_loss(curves.forest, step, evaluated, closed=c) for c in (False, True))
    return float(np.abs(direct - closed)[evaluated <= through].max())


def measure(config: ChildParentOrder, curves: Curves) -> dict[str, Estimate]:
    """Order, errors of both reconstructions and forecasts, at every ratio."""
    acquired = [c.times.acquired.sum() for c in curves.values()]
    figures = {"functions_acquired": Estimate.over_runs("functions acquired", acquired, "functions")}
    for ratio in config.ratios:
        key = f"{ratio:g}".replace(".", "_")
        for name, estimate in _at_one_ratio(of_ratio(curves, ratio), config.error_through).items():
            figures[f"{name}_{key}"] = replace(estimate, says=f"{estimate.says}, ratio {ratio:g}")
    return figures


def _at_one_ratio(runs: list[LearningCurves], through: int) -> dict[str, Estimate]:
    pooled = PAPER_SEEDS * int((runs[0].forest.parent >= 0).sum())
    first = [pooled * child_first_share(run) for run in runs]
    direct = [reconstruction_error(run, through, closed=False) for run in runs]
    closed = [reconstruction_error(run, through, closed=True) for run in runs]
    gap = [reconstruction_gap(run, through) for run in runs]
    over = Estimate.over_runs
    return {
        "child_first": over(f"children before their parent, of {pooled}", first, f"of {pooled}"),
        "direct_error": over("error of the direct basis", direct, "bits"),
        "closed_error": over("error of the ancestor-closed basis", closed, "bits"),
        "reconstructions_differ": over("largest difference of the reconstructions", gap, "bits"),
    } | forecast_figures([forecast_tasks(run) for run in runs])


CLAIM = hsp_claim(
    name="child-parent-order",
    says="frequency decides whether a composed task is learned after its parent or before it",
    presets={
        "quick": ChildParentOrder(
            learner=quick_learner(RegularFamily(roots=6, depth=1, pool=12), steps=3_000),
            ratios=(1.1, 5.0),
            model_seeds=(0, 1),
        ),
        "full": ChildParentOrder(model_seeds=(0, 1, 2, 3, 4)),
        "paper": ChildParentOrder(learner=PAPER_LEARNER),
    },
    runs=runs,
    measure=measure,
)
