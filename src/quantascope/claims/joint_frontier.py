"""One law for parameters, data and steps, which the paper names as an open goal (section 6).

Networks of several widths learn a forest from training sets of several sizes and from unlimited data; steps come
from the same trajectories. The joint frontier, separate laws and an additive law are fitted to some cells of that
grid and predict the others. Runs on small sets overfit; as with early stopping, a cell holds the best evaluation
up to its step, after smoothing by a running median.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool
from pydantic import model_validator

from quantascope.acquisition.learner import CohortLearner, LearningCurves
from quantascope.claims.cost import total_cost
from quantascope.claims.demand_level import BETAS, at_level, full_cohort, paper_training, quick_cohort
from quantascope.claims.hsp_claim import hsp_claim
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Distinct, Positive, PositiveFloat, Seeds
from quantascope.scaling import compositional_order, fit_power_law, log_error, loss_after, median_of_neighbours
from quantascope.scaling.joint import RESOURCES, Cells, JointLaw, fit_additive, fit_joint, fit_separately
from quantascope.tasks.hsp import Forest, RegularFamily

Curves = Mapping[str, LearningCurves]
SPLITS = ("interpolated", "extrapolated")


class JointFrontier(Config):
    """The grid: widths of the learner, sizes of the training set besides endless fresh data, and steps.

    Two sets of cells are predicted from the rest. `interpolated` is every third cell in the order of the grid;
    `extrapolated` is every cell of the largest width or the last step.
    """

    learner: CohortLearner
    beta: PositiveFloat = BETAS[1]
    examples: Annotated[tuple[Positive, ...], Distinct]
    steps: Annotated[tuple[Positive, ...], Distinct]
    seeds: Seeds = (0, 1, 2)

    @model_validator(mode="after")
    def _refuse_small_grids(self) -> "JointFrontier":
        if min(len(self.learner.widths), len(self.steps)) < 3 or len(self.examples) < 2:
            raise ValueError("a grid needs three widths, three steps and two sizes of training set")
        if len(self.steps) % 3 == 0:
            raise ValueError(
                f"with {len(self.steps)} steps, every third cell is of the last step and nothing is interpolated; "
                "give a number of steps that three does not divide"
            )
        if len(self.learner.widths) % 3 == 0:
            raise ValueError(
                f"with {len(self.learner.widths)} widths, the widest at the last step is never fitted to, "
                "whatever the training set; give a number of widths that three does not divide"
            )
        if max(self.steps) > self.learner.training.steps:
            raise ValueError(f"step {max(self.steps)} is beyond the last, {self.learner.training.steps}")
        return self


def runs(config: JointFrontier) -> dict[str, CohortLearner]:
    """A run for each seed and size of the training set, endless last."""
    return {
        _label(size, seed): at_level(config.learner, config.beta, seed).model_copy(update={"examples": size})
        for seed in config.seeds
        for size in (*config.examples, None)
    }


def _label(size: int | None, seed: int) -> str:
    return f"examples-{size or 'fresh'}-seed-{seed}"


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of one seed, with a mask of the predicted ones."""

    forest: Forest
    cells: Cells
    held_out: Mapping[str, Bool[np.ndarray, " cells"]]


def grid_of(config: JointFrontier, curves: Curves, seed: int) -> Grid:
    """The grid of a seed from its trajectories."""
    rows: list[tuple[float, ...]] = []
    held: list[tuple[bool, bool]] = []
    place = itertools.count()
    for size in (*config.examples, None):
        run = curves[_label(size, seed)]
        for width, parameters in enumerate(run.parameters.tolist()):
            count = np.maximum.accumulate(median_of_neighbours(run.acquired[:, width].sum(-1).astype(float)))
            loss = np.minimum.accumulate(median_of_neighbours(run.loss[:, width]))
            for step in config.steps:
                third = next(place) % 3 == 2
                at = int(np.searchsorted(run.step, step, side="right")) - 1
                if not np.isfinite(loss[at]):
                    continue
                held.append((third, width == len(run.parameters) - 1 or step == max(config.steps)))
                rows.append((parameters, size or np.inf, step, max(count[at], 0.5), loss[at]))
    masks = np.array(held).T
    return Grid(
        curves[_label(None, seed)].forest,
        Cells(*np.array(rows, dtype=float).T),
        dict(zip(SPLITS, masks, strict=True)),
    )


@dataclass(frozen=True)
class Contest:
    """Errors of each law on the same held-out cells, in log K and log L."""

    joint_count: float
    separate_count: float
    joint_loss: float
    separate_loss: float
    additive_loss: float
    prediction_loss: float


def contest(grid: Grid, held_out: Bool[np.ndarray, " cells"]) -> Contest:
    """Fit every law to the other cells and predict the held-out ones.

    Counts become losses by one power law L(K) of the fitted cells; `prediction_loss` takes the simulator's loss–K
    curve of the forest instead, without fitting it.
    """
    fitted, unseen = grid.cells.where(~held_out), grid.cells.where(held_out)
    bridge = fit_power_law(fitted.count, fitted.loss)
    joint, separate = fit_joint(fitted).count(unseen.resources), fit_separately(fitted).count(unseen.resources)
    predicted = loss_after(grid.forest, compositional_order(grid.forest), joint)
    return Contest(
        joint_count=log_error(joint, unseen.count),
        separate_count=log_error(separate, unseen.count),
        joint_loss=log_error(bridge(joint), unseen.loss),
        separate_loss=log_error(bridge(separate), unseen.loss),
        additive_loss=log_error(fit_additive(fitted).loss(unseen.resources), unseen.loss),
        prediction_loss=log_error(predicted, unseen.loss),
    )


def measure(config: JointFrontier, curves: Curves) -> dict[str, Estimate]:
    """Errors on held-out cells, and the joint law of all cells."""
    grids = [grid_of(config, curves, seed) for seed in config.seeds]
    over = Estimate.over_runs
    figures: dict[str, Estimate] = {}
    for split in SPLITS:
        contests = [contest(grid, grid.held_out[split]) for grid in grids]
        for field, law in _LAWS.items():
            values = [getattr(one, field) for one in contests]
            figures[f"{field}_{split}"] = over(f"log error of {law}, {split} cells", values, "nats")
        gains = {
            "over_separate": [one.separate_count - one.joint_count for one in contests],
            "over_additive": [one.additive_loss - one.joint_loss for one in contests],
        }
        for rival, values in gains.items():
            what = "K against separate laws" if rival == "over_separate" else "loss against the additive law"
            figures[f"gain_{rival}_{split}"] = over(
                f"log error of {what} that the joint law removes, {split} cells", values, "nats"
            )
    laws: list[JointLaw] = [fit_joint(grid.cells) for grid in grids]
    for axis, name in enumerate(RESOURCES):
        figures[f"exponent_{name}"] = over(f"exponent of K against {name}", [law.exponent[axis] for law in laws])
        figures[f"bound_by_{name}"] = over(
            f"share of cells in which {name} bind most",
            [
                float(np.mean(law.bounds(grid.cells.resources).argmin(1) == axis))
                for law, grid in zip(laws, grids, strict=True)
            ],
        )
    figures["sharpness"] = over("sharpness q of the crossover", [law.sharpness for law in laws])
    return figures


_LAWS = {
    "joint_count": "K by the joint law",
    "separate_count": "K by separate laws",
    "joint_loss": "loss by the joint law",
    "separate_loss": "loss by separate laws",
    "additive_loss": "loss by the additive law",
    "prediction_loss": "loss by the joint law and the simulator's loss–K curve",
}

CLAIM = hsp_claim(
    name="joint-frontier",
    says="parameters, data and steps bound one learned prefix",
    presets={
        "quick": JointFrontier(
            learner=quick_cohort(widths=(8, 12, 16, 32), steps=2_000, evaluate_every=100),
            examples=(2**11, 2**14),
            steps=(200, 500, 1_000, 2_000),
            seeds=(0, 1),
        ),
        "full": JointFrontier(
            learner=full_cohort(
                RegularFamily(roots=4, depth=5, pool=28),
                widths=(8, 16, 32, 64, 96),
                steps=4_000,
                evaluate_every=250,
            ),
            examples=(2**15, 2**17, 2**19),
            steps=(500, 1_000, 2_000, 4_000),
        ),
        "paper": JointFrontier(
            learner=CohortLearner(training=paper_training(steps=20_000_000, evaluate_every=5_000)),
            examples=(2**20, 2**24, 2**28),
            steps=(1_000_000, 2_500_000, 5_000_000, 10_000_000, 20_000_000),
            seeds=(0,),
        ),
    },
    runs=runs,
    measure=measure,
    cost=total_cost,
)
