"""Figures that the scaling claims share: the exponent of the loss at a level, and what it is compared with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from quantascope.claims.demand_level import at_alpha, key_of
from quantascope.claims.result import Estimate
from quantascope.scaling import (
    PowerLawFit,
    bootstrap_exponent,
    compositional_order,
    direct_order,
    forms_or_undecided,
    log_error,
    loss_after,
    power_law_or_nothing,
)
from quantascope.tasks.hsp import Forest

PREDICTIONS = {
    "predicted": "exponent by Q-dynamics at the measured K",
    "predicted_direct": "exponent by Q-dynamics at the measured K, every function a shortcut",
    "predicted_soft": "exponent by Q-dynamics at the soft count (added after the runs were seen)",
    "reconstructed": "exponent by the functions that were really acquired",
    "fractional": "exponent by unmet shares of functions (added after the runs were seen)",
}
"""What the exponent of the loss is compared with."""
FEWEST_ACQUIRED = 0.5
"""Lower bound of a count, so that a network that acquired nothing fits on a logarithmic axis."""


@dataclass(frozen=True, eq=False)
class Points:
    """The points of one seed that are fitted: a resource and the loss, counts and predicted losses at it.

    A run that did not reach these points has none.
    """

    resource: Float[np.ndarray, " points"]
    loss: Float[np.ndarray, " points"]
    count: Float[np.ndarray, " points"]
    soft_count: Float[np.ndarray, " points"]
    predictions: Mapping[str, Float[np.ndarray, " points"]]
    """By the names of `PREDICTIONS`."""

    @property
    def fit(self) -> PowerLawFit:
        """Loss against the resource."""
        return power_law_or_nothing(self.resource, self.loss)


Seeds = Sequence[Float[np.ndarray, " _"]]
Exponent = Callable[[str, Seeds, Seeds, int], Estimate]
"""Returns an exponent over seeds from its description, x and y of every seed, and a sign: −1 if y grows."""


def loss_at_count(
    forest: Forest, count: Float[np.ndarray, " points"], soft_count: Float[np.ndarray, " points"]
) -> dict[str, Float[np.ndarray, " points"]]:
    """Losses that Q-dynamics predicts for a forest at counts of acquired functions."""
    order = compositional_order(forest)
    return {
        "predicted": loss_after(forest, order, count),
        "predicted_direct": loss_after(forest, direct_order(forest), count),
        "predicted_soft": loss_after(forest, order, soft_count),
    }


def level_figures(
    alpha: float, target: Estimate, resource: str, seeds: Sequence[Points], exponent: Exponent
) -> dict[str, Estimate]:
    """The exponent of the loss against a resource beside its target, its predictions, and against K."""
    key, over, goal = key_of(alpha), Estimate.over_runs, target.values[0]
    size, loss, fits = [one.resource for one in seeds], [one.loss for one in seeds], [one.fit for one in seeds]
    errors = [100 * abs(fit.exponent - goal) / goal for fit in fits]
    figures = {
        f"target_{key}": target,
        f"exponent_{key}": exponent(f"exponent of loss against {resource}", size, loss, 1),
        f"relative_error_{key}": over("error of the exponent relative to its target", errors, "%"),
        f"r2_{key}": over("R² of the log-log fit", [fit.r2 for fit in fits]),
    }
    for name, says in PREDICTIONS.items():
        predicted = [one.predictions[name] for one in seeds]
        errors = [log_error(*pair) for pair in zip(predicted, loss, strict=True)]
        figures[f"{name}_{key}"] = exponent(says, size, predicted, 1)
        figures[f"{name}_log_error_{key}"] = over(f"rms log error of losses: {says}", errors, "nats")
    count, soft = [one.count for one in seeds], [one.soft_count for one in seeds]
    known = [np.maximum(one, FEWEST_ACQUIRED) for one in count]
    figures |= {
        f"frontier_{key}": exponent(f"exponent of K against {resource}", size, known, -1),
        f"exponent_by_count_{key}": exponent("exponent of loss against K", count, loss, 1),
        f"exponent_by_soft_count_{key}": exponent("exponent of loss against the soft count", soft, loss, 1),
    }
    return at_alpha(alpha, figures)


def exponent_of_runs(says: str, x: Seeds, y: Seeds, sign: int = 1) -> Estimate:
    """The exponent fitted to each seed, undefined where there are fewer than three different sizes."""
    fits = [power_law_or_nothing(a, b) for a, b in zip(x, y, strict=True)]
    return Estimate.over_runs(says, [sign * fit.exponent for fit in fits])


def exponent_of_sizes(says: str, x: Seeds, y: Seeds, sign: int = 1) -> Estimate:
    """The same where all seeds have the same sizes; the bootstrap interval draws seeds and sizes anew."""
    ends = bootstrap_exponent(np.array(x), np.array(y))
    if ends and sign < 0:
        ends = (-ends[1], -ends[0])
    return replace(exponent_of_runs(says, x, y, sign), bootstrap=ends)


def form_figures(key: str, x: Seeds, y: Seeds) -> dict[str, Estimate]:
    """How much worse other forms than a power law describe all seeds together; intervals by drawing seeds anew.

    Fewer than three seeds have no interval, as for other figures. A seed that is drawn twice counts twice, which
    exaggerates differences: these intervals reach too far from zero.
    """
    rng = np.random.default_rng(0)
    drawn = [
        tuple(range(len(x))),
        *(tuple(sorted(row)) for row in rng.integers(len(x), size=(500, len(x))).tolist() if len(x) >= 3),
    ]
    known = {
        rows: forms_or_undecided(np.concatenate([x[i] for i in rows]), np.concatenate([y[i] for i in rows]))
        for rows in set(drawn)
    }
    forms = [known[rows] for rows in drawn]
    return _excesses(key, Estimate.pooled, [(one.exponential_excess, one.broken_excess) for one in forms])


def form_figures_of_runs(key: str, seeds: Sequence[Points]) -> dict[str, Estimate]:
    """The same for each seed by itself."""
    forms = [forms_or_undecided(one.resource, one.loss) for one in seeds]
    return _excesses(key, Estimate.over_runs, [(one.exponential_excess, one.broken_excess) for one in forms])


def _excesses(
    key: str, estimate: Callable[[str, Sequence[float]], Estimate], excess: Sequence[tuple[float, float]]
) -> dict[str, Estimate]:
    exponential, broken = zip(*excess, strict=True)
    says = "AICc of {} above that of a power law"
    return {
        f"exponential_excess_{key}": estimate(says.format("an exponential"), exponential),
        f"broken_excess_{key}": estimate(says.format("a broken power law"), broken),
    }
