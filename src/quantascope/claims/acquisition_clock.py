"""Demand is a clock, and depth costs a little more time (paper, appendix B, "Acquisition clock across depth").

The forest has 60 nodes in four trees. Frequencies are assigned independently of depth, so that the effects of the
two can be separated; by the released defaults they fall with depth.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from quantascope.acquisition import fit_clock, rank_correlation
from quantascope.acquisition.learner import HSPLearner, LearningCurves
from quantascope.claims.forecasts import forecast_figures, forecast_tasks
from quantascope.claims.hsp_claim import TREE_DEFAULTS, hsp_claim, quick_learner, with_model_seed
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Seeds
from quantascope.tasks.hsp import DepthMass, RegularFamily, ZipfDemand
from quantascope.training import TrainingConfig


def _dealt_by_rank(learner: HSPLearner) -> HSPLearner:
    family = learner.family
    if not (isinstance(family, RegularFamily) and isinstance(family.demand, ZipfDemand | DepthMass)):
        raise ValueError("this claim is about the regular family with zipf demand or depth mass; keep both kinds")
    return learner


RankedLearner = Annotated[HSPLearner, AfterValidator(_dealt_by_rank)]


class AcquisitionClock(Config):
    """Several pairs of a model seed and a rank assignment."""

    learner: RankedLearner = HSPLearner(
        family=RegularFamily(roots=4, depth=3, pool=32, demand=ZipfDemand()),
        training=TrainingConfig(steps=20_000),
    )
    seeds: Seeds = (0, 1, 2, 3, 4)


def runs(config: AcquisitionClock) -> dict[str, HSPLearner]:
    """One run per seed, each with its own rank assignment and initial network."""
    base, family = config.learner, config.learner.family
    assert isinstance(family, RegularFamily)  # as the config was validated
    return {
        f"seed-{seed}": base.model_copy(
            update={
                "family": family.model_copy(
                    update={"demand": family.demand.model_copy(update={"rank_seed": seed})}
                ),
                **with_model_seed(base, seed),
            }
        )
        for seed in config.seeds
    }


def measure(config: AcquisitionClock, curves: Mapping[str, LearningCurves]) -> dict[str, Estimate]:
    """The clock with and without depth, over runs, and the forecasts."""
    chosen = list(curves.values())
    plain = [fit_clock(c.times.step, c.forest.task_probability) for c in chosen]
    deep = [fit_clock(c.times.step, c.forest.task_probability, c.forest.depth) for c in chosen]
    spearman = [rank_correlation(c.times.step, c.forest.task_probability) for c in chosen]
    over = Estimate.over_runs
    return {
        "gamma": over("exponent γ of T ∝ π^(−γ)", [fit.gamma for fit in plain]),
        "r2": over("R² of the clock", [fit.r2 for fit in plain]),
        "r2_with_depth": over("R² of the clock with depth", [fit.r2 for fit in deep]),
        "cost_per_level": over("time cost per level", [fit.cost_per_level for fit in deep], "×"),
        "gamma_with_depth": over("exponent γ with depth", [fit.gamma for fit in deep]),
        "spearman": over("Spearman of frequency and time", spearman),
        "functions_acquired": over("functions acquired", [fit.functions for fit in plain], "functions"),
    } | forecast_figures([forecast_tasks(c) for c in chosen])


CLAIM = hsp_claim(
    name="acquisition-clock",
    says="acquisition time goes as one over frequency, times a cost for every level of depth",
    presets={
        "quick": AcquisitionClock(
            learner=quick_learner(RegularFamily(roots=4, depth=2, pool=16, demand=ZipfDemand()), steps=5_000),
            seeds=(0, 1),
        ),
        "full": AcquisitionClock(),
        "paper": AcquisitionClock(learner=TREE_DEFAULTS, seeds=(0,)),
    },
    runs=runs,
    measure=measure,
)
