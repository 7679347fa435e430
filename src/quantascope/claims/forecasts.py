"""Beyond the paper, for every claim: predicts unseen acquisition times from demand, and from demand over κ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from quantascope.acquisition import Forecast, forecast, simulate_modes, simulate_tasks
from quantascope.acquisition.learner import LearningCurves
from quantascope.claims.result import Estimate
from quantascope.tasks.hsp import Forest
from quantascope.theory import closure_from_query


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Measured acquisition steps of one run with both forecasts."""

    measured: Float[np.ndarray, " functions"]
    demand: Forecast
    conditional: Forecast


def forecast_tasks(curves: LearningCurves) -> Forecasts:
    """Predict when each queried node is acquired; every node of the forest must be a task."""
    forest, measured = curves.forest, curves.times.step
    return Forecasts(
        measured,
        forecast(measured, simulate_tasks(forest, conditional=False)),
        forecast(measured, simulate_tasks(forest, conditional=True)),
    )


def forecast_modes(forest: Forest, measured: Float[np.ndarray, " nodes"]) -> Forecasts:
    """Predict when each local parity of a forest is acquired."""
    closure = closure_from_query(forest.parent, forest.query)
    return Forecasts(
        measured,
        forecast(measured, simulate_modes(forest, closure, conditional=False)),
        forecast(measured, simulate_modes(forest, closure, conditional=True)),
    )


def forecast_figures(forecasts: Sequence[Forecasts]) -> dict[str, Estimate]:
    """Rank correlation and log error of both forecasts, and what conditional complexity adds."""
    ranks = np.array([(f.demand.rank_correlation, f.conditional.rank_correlation) for f in forecasts])
    errors = np.array([(f.demand.log_error, f.conditional.log_error) for f in forecasts])
    over = Estimate.over_runs
    return {
        "forecast_rank_demand": over(
            "rank correlation of simulated and measured times, demand alone", ranks[:, 0]
        ),
        "forecast_rank_conditional": over(
            "rank correlation of simulated and measured times, demand/κ", ranks[:, 1]
        ),
        "forecast_rank_gain": over("rank correlation that κ adds", ranks[:, 1] - ranks[:, 0]),
        "forecast_error_demand": over("log error of unseen times, demand alone", errors[:, 0], "nats"),
        "forecast_error_conditional": over("log error of unseen times, demand/κ", errors[:, 1], "nats"),
        "forecast_error_gain": over("log error that κ removes", errors[:, 0] - errors[:, 1], "nats"),
    }
