"""Loss against parameters at prescribed demand exponents (paper, section 4.3, figure 5a; appendices D.1 and D.2).

Networks of several widths learn forests whose closure demand prescribes α. The paper predicts L ∝ P^(−α) for an
endless forest. A finite one bends that law: the honest rival of α is what Q-dynamics foretells for the very forest
that was learned, at the very number of functions that each network acquired.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import AfterValidator, model_validator

from quantascope.acquisition.learner import CohortLearner, LearningCurves, learn, prepare
from quantascope.claims.claim import Claim
from quantascope.claims.cost import total_cost
from quantascope.claims.demand_level import (
    BETAS,
    PREDICTIONS,
    Level,
    at_alpha,
    at_level,
    key_of,
    refuse_equal_names,
)
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, NonNegativeFloat, Positive, Seeds
from quantascope.runs.errors import Diverged
from quantascope.scaling import (
    bootstrap_exponent,
    compositional_order,
    direct_order,
    forms_or_undecided,
    fractional,
    last_stable,
    log_error,
    loss_after,
    median_ending_at,
    power_law_or_nothing,
    reconstructed,
)
from quantascope.tasks.hsp import Forest, RegularFamily
from quantascope.training import OptimizerConfig, TrainingConfig

Curves = Mapping[str, LearningCurves]
MILLION = 1_000_000


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
    groups = [config.learner.widths] if config.share_batches else [(width,) for width in config.learner.widths]
    return {
        _label(config, level, seed, widths): at_level(config.learner, level.beta, seed).model_copy(
            update={"widths": widths}
        )
        for level in config.levels
        for seed in config.seeds
        for widths in groups
    }


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

    def foretold(self) -> dict[str, Float[np.ndarray, " widths"]]:
        """Losses that are compared with the measured ones, by the names of `PREDICTIONS`."""
        forest, count = self.forest, self.selected(self.count)
        coefficient = np.concatenate([part.coefficient for part in self.parts], axis=1)
        losses = {
            "predicted": loss_after(forest, compositional_order(forest), count),
            "predicted_direct": loss_after(forest, direct_order(forest), count),
            "predicted_soft": loss_after(forest, compositional_order(forest), self.selected(self.soft_count)),
            "reconstructed": self.selected(reconstructed(forest, self.acquired)),
            "fractional": self.selected(fractional(forest, coefficient)),
        }
        return {name: self.without_diverged(loss) for name, loss in losses.items()}

    def without_diverged(self, values: Float[np.ndarray, " widths"]) -> Float[np.ndarray, " widths"]:
        """NaN in place of networks that diverged."""
        return np.where(self.diverged, np.nan, values)


def sweeps(config: ParameterScaling, curves: Curves, level: Level) -> list[Sweep]:
    """The sweeps of a level, one for each seed."""
    groups = [config.learner.widths] if config.share_batches else [(width,) for width in config.learner.widths]
    found = [
        Sweep(config, level, tuple(curves[_label(config, level, seed, widths)] for widths in groups))
        for seed in config.seeds
    ]
    lost = sum(int(sweep.diverged.sum()) for sweep in found)
    if lost and config.diverged == "refuse":
        raise Diverged(
            f"{lost} networks diverged at alpha {config.alpha(level):.3f}; lower the learning rate or set "
            "diverged=exclude"
        )
    return found


def measure(config: ParameterScaling, curves: Curves) -> dict[str, Estimate]:
    """The paper's figures at each level, the finite-system prediction beside them, and how sure they are."""
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
    key = key_of(alpha)
    size = np.array([s.parameters for s in found], dtype=float)
    loss = np.array([s.selected(s.loss) for s in found])
    count = np.array([s.without_diverged(s.selected(s.count)) for s in found])
    soft = np.array([s.without_diverged(s.selected(s.soft_count)) for s in found])
    each = [s.foretold() for s in found]
    foretold = {name: np.array([one[name] for one in each]) for name in PREDICTIONS}
    fits = [power_law_or_nothing(x, y) for x, y in zip(size, loss, strict=True)]
    over = Estimate.over_runs
    figures = {
        f"target_{key}": over("prescribed exponent α", [alpha]),
        f"exponent_{key}": exponent_over("exponent of loss against parameters", size, loss),
        f"relative_error_{key}": over(
            "error of the exponent relative to α", [100 * abs(fit.exponent - alpha) / alpha for fit in fits], "%"
        ),
        f"r2_{key}": over("R² of the log-log fit", [fit.r2 for fit in fits]),
    }
    figures |= {
        f"{name}_{key}": exponent_over(PREDICTIONS[name], size, values) for name, values in foretold.items()
    }
    for name, values in foretold.items():
        error = [log_error(*pair) for pair in zip(values, loss, strict=True)]
        figures[f"{name}_log_error_{key}"] = over(f"rms log error of losses: {PREDICTIONS[name]}", error, "nats")
    known = np.maximum(count, 0.5)  # a network that acquired nothing still has its place on a logarithmic axis
    figures |= {
        f"frontier_{key}": negated(exponent_over("exponent of K against parameters", size, known)),
        f"exponent_by_count_{key}": exponent_over("exponent of loss against K", known, loss),
        f"predicted_by_count_{key}": exponent_over(
            "exponent of loss against K by Q-dynamics", known, foretold["predicted"]
        ),
        f"exponent_by_soft_count_{key}": exponent_over("exponent of loss against the soft count", soft, loss),
    }
    for share in (0.25, 0.5, 0.75):
        end = int(share * found[0].level.last)
        earlier = np.array([s.at(s.loss, end) for s in found])
        figures[f"exponent_{key}_at_{int(100 * share)}_percent"] = exponent_over(
            f"exponent at {share:.0%} of the budget", size, earlier
        )
    for name, length in {"no_window": 0, "double_window": 2 * found[0].config.window}.items():
        otherwise = np.array([s.selected(s.loss, length) for s in found])
        figures[f"exponent_{key}_{name}"] = exponent_over(
            f"exponent over {length} steps before the checkpoint", size, otherwise
        )
    return at_alpha(alpha, figures | form_figures(key, size, loss))


def exponent_over(says: str, x: Float[np.ndarray, "seeds sizes"], y: Float[np.ndarray, "seeds sizes"]) -> Estimate:
    """The exponent fitted to each seed, undefined where there are fewer than three different sizes.

    The bootstrap interval draws seeds and sizes anew.
    """
    values = [power_law_or_nothing(a, b).exponent for a, b in zip(x, y, strict=True)]
    return replace(Estimate.over_runs(says, values), bootstrap=bootstrap_exponent(x, y))


def negated(estimate: Estimate) -> Estimate:
    """The same with the opposite sign, for what grows."""
    flip = [*(-value for value in estimate.values), *[np.nan] * estimate.undefined]
    ends = estimate.bootstrap
    return replace(
        Estimate.over_runs(estimate.says, flip, estimate.unit),
        bootstrap=(-ends[1], -ends[0]) if ends else None,
    )


def form_figures(
    key: str, x: Float[np.ndarray, "seeds sizes"], y: Float[np.ndarray, "seeds sizes"]
) -> dict[str, Estimate]:
    """How much worse other forms than a power law describe all seeds together; intervals by drawing seeds anew.

    Fewer than three seeds have no interval, as for other figures. A seed that is drawn twice counts twice, which
    exaggerates differences: these intervals reach too far from zero.
    """
    rng = np.random.default_rng(0)
    drawn = [
        tuple(range(len(x))),
        *(tuple(sorted(row)) for row in rng.integers(len(x), size=(500, len(x))).tolist() if len(x) >= 3),
    ]
    known = {rows: forms_or_undecided(x[list(rows)].ravel(), y[list(rows)].ravel()) for rows in set(drawn)}
    forms = [known[rows] for rows in drawn]
    return {
        f"exponential_excess_{key}": Estimate.pooled(
            "AICc of an exponential above that of a power law", [form.exponential_excess for form in forms]
        ),
        f"broken_excess_{key}": Estimate.pooled(
            "AICc of a broken power law above that of a power law", [form.broken_excess for form in forms]
        ),
    }


PAPER_R2_AT = {0.20: (15,), 0.25: (9, 10), 0.339137: (15, 17, 18)}
"""Million steps at which the paper fits every width."""
PAPER_STABLE_WIDTHS = (24, 128, 256)
"""Widths whose last stable checkpoint it names, at α = 0.339137."""


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
CLAIM = Claim(
    name="parameter-scaling",
    says="loss falls with parameters as a power law whose exponent is that of demand",
    presets={
        "quick": ParameterScaling(
            learner=CohortLearner(
                family=RegularFamily(roots=2, depth=3, pool=12),
                widths=(8, 12, 16, 24),
                hidden_layers=2,
                batch_size=256,
                training=TrainingConfig(
                    steps=2_000, evaluate_every=100, optimizer=OptimizerConfig(name="adam", learning_rate=1e-2)
                ),
            ),
            levels=fixed_levels(2_000),
            seeds=(0, 1),
            window=500,
            checkpoint_every=1_000,
        ),
        "full": ParameterScaling(
            learner=CohortLearner(
                family=RegularFamily(roots=4, depth=5, pool=28),
                widths=(8, 16, 32, 48, 64, 96),
                hidden_layers=3,
                batch_size=512,
                training=TrainingConfig(
                    steps=FULL_STEPS,
                    evaluate_every=500,
                    optimizer=OptimizerConfig(name="adam", learning_rate=1e-2),
                ),
            ),
            levels=fixed_levels(FULL_STEPS),
            window=2_000,
            checkpoint_every=2_000,
        ),
        "paper": ParameterScaling(
            learner=CohortLearner(
                training=TrainingConfig(
                    steps=20 * MILLION,
                    evaluate_every=5_000,
                    checkpoints=tuple(range(0, 20 * MILLION + 1, MILLION)),
                    optimizer=OptimizerConfig(name="sgd", learning_rate=0.0075),
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
    prepare=prepare,
    work=learn,
    steps=lambda learner: learner.training.steps,
    measure=measure,
    cost=total_cost,
)
