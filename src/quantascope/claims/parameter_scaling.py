"""Loss against parameters at prescribed demand exponents (paper, section 4.3, figure 5a; appendices D.1 and D.2).

Networks of several widths learn forests whose closure demand prescribes α. The paper predicts L ∝ P^(−α) for an
endless forest. A finite forest deviates from that law. So the measured exponent is also compared with what
Q-dynamics predicts for the forest that was learned, at the number of functions that each network acquired.
"""

from collections.abc import Sequence

import numpy as np

from quantascope.acquisition.learner import CohortLearner
from quantascope.claims.cost import total_cost
from quantascope.claims.demand_level import (
    BETAS,
    Level,
    at_alpha,
    full_cohort,
    key_of,
    paper_training,
    quick_cohort,
)
from quantascope.claims.hsp_claim import hsp_claim
from quantascope.claims.result import Estimate
from quantascope.claims.scaling_figures import exponent_of_sizes, form_figures, level_figures
from quantascope.claims.width_sweep import Curves, ParameterScaling, Sweep, runs, sweeps
from quantascope.scaling import power_law_or_nothing
from quantascope.tasks.hsp import RegularFamily

MILLION = 1_000_000


def measure(config: ParameterScaling, curves: Curves) -> dict[str, Estimate]:
    """The paper's figures at each level, the finite-system prediction beside them, and their uncertainty."""
    figures: dict[str, Estimate] = {}
    fits: list[list[float]] = []
    lost: list[list[int]] = []
    for level in config.levels:
        found = sweeps(config, curves, level)
        figures |= _level_figures(config.alpha(level), found)
        fits.append([power_law_or_nothing(s.parameters, s.selected(s.loss)).r2 for s in found])
        lost.append([int(s.diverged.sum()) for s in found])
    over = Estimate.over_runs
    figures["r2_across_alphas"] = over("mean R² of the fits at all levels", np.mean(fits, axis=0))
    figures["diverged"] = over("networks that diverged and were left out", np.sum(lost, axis=0), "networks")
    return figures | _paper_checkpoints(config, curves)


def _level_figures(alpha: float, found: Sequence[Sweep]) -> dict[str, Estimate]:
    key, exponent = key_of(alpha), exponent_of_sizes
    points = [sweep.points() for sweep in found]
    size, loss, count = ([getattr(one, name) for one in points] for name in ("resource", "loss", "count"))
    figures = {
        f"predicted_by_count_{key}": exponent(
            "exponent of loss against K by Q-dynamics", count, [one.predictions["predicted"] for one in points]
        )
    }
    for share in (0.25, 0.5, 0.75):
        end = int(share * found[0].level.last)
        figures[f"exponent_{key}_at_{int(100 * share)}_percent"] = exponent(
            f"exponent at {share:.0%} of the budget", size, [sweep.at(sweep.loss, end) for sweep in found]
        )
    for name, length in {"no_window": 0, "double_window": 2 * found[0].config.window}.items():
        figures[f"exponent_{key}_{name}"] = exponent(
            f"exponent over {length} steps before the checkpoint",
            size,
            [sweep.selected(sweep.loss, length) for sweep in found],
        )
    target = Estimate.over_runs("prescribed exponent α", [alpha])
    shared = level_figures(alpha, target, "parameters", points, exponent)
    return shared | at_alpha(alpha, figures | form_figures(key, size, loss))


PAPER_R2_AT = {0.20: (15,), 0.25: (9, 10), 0.339137: (15, 17, 18)}
"""The steps, in millions, at which the paper fits every width."""
PAPER_STABLE_WIDTHS = (24, 128, 256)
"""Widths whose last stable checkpoint the paper names, at α = 0.339137."""


def _paper_checkpoints(config: ParameterScaling, curves: Curves) -> dict[str, Estimate]:
    """Figures that the paper states at its own checkpoints; no run defines them where these are not reached."""
    figures: dict[str, Estimate] = {}
    for level in config.levels:
        alpha = config.alpha(level)
        key, found = key_of(alpha), sweeps(config, curves, level)
        for stated, millions in PAPER_R2_AT.items():
            for million in millions if key_of(stated) == key else ():
                reached = found[0].step[-1] >= million * MILLION
                r2 = (
                    [power_law_or_nothing(s.parameters, s.at(s.loss, million * MILLION)).r2 for s in found]
                    if reached
                    else []
                )
                figures[f"r2_{key}_at_{million}m_steps"] = Estimate.over_runs(
                    f"R² of the fit at {million}M steps", r2
                )
        if key == key_of(0.339137):
            figures |= _stability(found)
    return figures


def _stability(found: Sequence[Sweep]) -> dict[str, Estimate]:
    """The last stable checkpoint by width, and the first unstable one after it, in million steps."""
    reached = found[0].level.last >= 18 * MILLION
    widths = found[0].config.learner.widths
    stable = np.array([s.checkpoints for s in found]) / MILLION
    every = found[0].config.checkpoint_every / MILLION
    last = found[0].level.last / MILLION
    figures: dict[str, Estimate] = {}
    for width in PAPER_STABLE_WIDTHS:
        at = stable[:, widths.index(width)] if reached and width in widths else np.array([])
        after = at[at < last] + every
        word = "collapsed_by" if width == 24 else "unstable_at"
        figures[f"last_stable_0_339_width_{width}"] = Estimate.over_runs("last stable checkpoint", at, "M steps")
        figures[f"{word}_0_339_width_{width}"] = Estimate.over_runs("first unstable checkpoint", after, "M steps")
    others = [i for i, width in enumerate(widths) if width not in PAPER_STABLE_WIDTHS]
    rest = stable[:, others].min(1) if reached else np.array([])
    figures["last_stable_0_339_other_widths"] = Estimate.over_runs(
        "earliest last stable checkpoint of the other widths", rest, "M steps"
    )
    return figures


def fixed_levels(step: int) -> tuple[Level, ...]:
    """The paper's three exponents, all read at one step."""
    return tuple(Level(beta=beta, first=step, last=step) for beta in BETAS)


FULL_STEPS = 20_000
CLAIM = hsp_claim(
    name="parameter-scaling",
    says="loss falls with parameters as a power law whose exponent is that of demand",
    presets={
        "quick": ParameterScaling(
            learner=quick_cohort(widths=(8, 12, 16, 24), steps=2_000, evaluate_every=100),
            levels=fixed_levels(2_000),
            seeds=(0, 1),
            window=500,
            checkpoint_every=1_000,
        ),
        "full": ParameterScaling(
            learner=full_cohort(
                RegularFamily(roots=4, depth=5, pool=28),
                widths=(8, 16, 32, 48, 64, 96),
                steps=FULL_STEPS,
                evaluate_every=500,
            ),
            levels=fixed_levels(FULL_STEPS),
            window=2_000,
            checkpoint_every=2_000,
        ),
        "paper": ParameterScaling(
            learner=CohortLearner(
                training=paper_training(
                    steps=20 * MILLION,
                    evaluate_every=5_000,
                    checkpoints=tuple(range(0, 20 * MILLION + 1, MILLION)),
                ),
            ),
            levels=(
                Level(beta=BETAS[0], first=15 * MILLION, last=15 * MILLION),
                Level(beta=BETAS[1], first=10 * MILLION, last=10 * MILLION),
                Level(beta=BETAS[2], first=18 * MILLION, last=20 * MILLION),
            ),
            seeds=(0,),
            share_batches=False,
            window=25_000,
            checkpoint_every=MILLION,
        ),
    },
    runs=runs,
    measure=measure,
    cost=total_cost,
)
