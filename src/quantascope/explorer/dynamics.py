"""The dynamics view: when a network acquired the tasks of a forest, and when Q-dynamics predicts it."""

from typing import Any

import numpy as np
from jaxtyping import Float

from quantascope.acquisition import (
    THRESHOLD,
    fit_clock,
    forecast,
    reconstructed_loss,
    simulate_modes,
    simulate_tasks,
)
from quantascope.explorer.forest_run import ForestRun, node_name, parent_name
from quantascope.explorer.values import drawn, thinned
from quantascope.tasks.hsp import Forest
from quantascope.theory import closure_from_query

MOST_CURVES = 512
"""Number of tasks with loss curves, the most demanded first; other tasks have only an acquisition step."""
MOST_VALUES = 60_000


def dynamics(run: ForestRun) -> dict[str, Any]:
    """Losses and acquisitions of every task, and the steps that Q-dynamics predicts."""
    curves = run.curves
    forest, measured = curves.forest, curves.times.step
    nodes = forest.tasks
    shown = min(len(nodes), MOST_CURVES)
    at = thinned(len(curves.step), max(50, MOST_VALUES // (2 * shown)))
    demand = closure_from_query(forest.parent, forest.query)
    foretold = {
        conditional: forecast(measured, simulated_steps(forest, conditional=conditional))
        for conditional in (True, False)
    }
    with_curves = set(np.argsort(-demand[nodes], kind="stable")[:shown].tolist())
    steps, alone = drawn(foretold[True].step), drawn(foretold[False].step)
    losses, coefficients = curves.task_loss[at], curves.coefficient[at]
    clock = fit_clock(measured, forest.task_probability, forest.depth[nodes])
    return {
        "steps": curves.step[at].tolist(),
        "loss": drawn(curves.loss[at]),
        "reconstructed": drawn(
            reconstructed_loss(forest, by_node(forest, measured), curves.step[at], closed=False)
        ),
        "threshold": THRESHOLD,
        "tasks": [
            {
                "name": node_name(node),
                "parent": parent_name(forest, node),
                "depth": int(forest.depth[node]),
                "query": float(forest.query[node]),
                "demand": float(demand[node]),
                "acquired": None if np.isnan(measured[task]) else int(measured[task]),
                "simulated": steps[task],
                "simulated_demand_only": alone[task],
                "loss": drawn(losses[:, task]) if task in with_curves else [],
                "coefficient": drawn(coefficients[:, task]) if task in with_curves else [],
            }
            for task, node in enumerate(nodes.tolist())
        ],
        "hidden": [
            {"name": node_name(node), "parent": parent_name(forest, node), "depth": int(forest.depth[node])}
            for node in np.flatnonzero(forest.query == 0).tolist()
        ],
        "clock": {"gamma": clock.gamma, "r2": clock.r2, "cost_per_level": clock.cost_per_level},
        "forecast": {
            "rank": foretold[True].rank_correlation,
            "log_error": foretold[True].log_error,
            "rank_demand_only": foretold[False].rank_correlation,
            "log_error_demand_only": foretold[False].log_error,
        },
    }


def simulated_steps(forest: Forest, *, conditional: bool) -> Float[np.ndarray, " tasks"]:
    """Simulated acquisition times of the tasks, in units of Q-dynamics.

    If some nodes are never queried, quanta are local parities, and a task is acquired once its whole path is.
    """
    if (forest.query > 0).all():
        return simulate_tasks(forest, conditional=conditional)
    demand = closure_from_query(forest.parent, forest.query)
    modes = simulate_modes(forest, demand, conditional=conditional)
    return np.array([modes[forest.path(node)].max() for node in forest.tasks.tolist()])


def by_node(forest: Forest, steps: Float[np.ndarray, " tasks"]) -> Float[np.ndarray, " nodes"]:
    """Steps of the tasks, by node; NaN for nodes that are never queried."""
    found = np.full(len(forest.parent), np.nan)
    found[forest.tasks] = steps
    return found
