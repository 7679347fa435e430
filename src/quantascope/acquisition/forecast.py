"""Measures how well Q-dynamics predicts acquisition times that it was not fitted to.

The simulator has its own time unit. The unit is fitted on half of the functions and used to predict the other
half. Then the halves are swapped, so that every function is predicted once. Demand alone (κ = 1) is compared with
demand over conditional complexity.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from quantascope.acquisition.clock import rank_correlation
from quantascope.tasks.hsp.forest import Forest
from quantascope.theory import ConstantComplexity, FeatureReuse, Poset, parallel, parity_complexity

FEWEST = 4


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted acquisition steps, the root-mean-square error of their logarithm, and the rank correlation.

    The correlation uses the simulated times: ranks need no unit, so nothing is fitted.
    """

    step: Float[np.ndarray, " functions"]
    rank_correlation: float
    log_error: float


def forecast(
    measured: Float[np.ndarray, " functions"],
    simulated: Float[np.ndarray, " functions"],
    *,
    split_seed: int = 0,
) -> Forecast:
    """Predict each half of the acquired functions with the time unit of the other half.

    Functions that were never acquired are predicted with the unit of all others and have no error. With fewer than
    four acquired functions, everything is undefined (NaN).

    >>> simulated = np.array([1.0, 2.0, 3.0, 4.0])
    >>> exact = forecast(50 * simulated, simulated)
    >>> exact.rank_correlation, round(exact.log_error, 9)
    (1.0, 0.0)
    """
    seen = np.flatnonzero(np.isfinite(measured) & (measured > 0))
    if seen.size < FEWEST:
        return Forecast(np.full(len(measured), np.nan), np.nan, np.nan)
    ratio = np.full(len(measured), np.nan)
    ratio[seen] = np.log(measured[seen] / simulated[seen])
    step = np.exp(np.median(ratio[seen])) * simulated
    halves = np.array_split(np.random.default_rng(split_seed).permutation(seen), 2)
    for fitted, foretold in (halves, halves[::-1]):
        step[foretold] = np.exp(np.median(ratio[fitted])) * simulated[foretold]
    error = np.log(step[seen] / measured[seen])
    return Forecast(step, rank_correlation(measured, simulated), float(np.sqrt(np.mean(error**2))))


def simulate_tasks(forest: Forest, *, conditional: bool) -> Float[np.ndarray, " nodes"]:
    """Simulated acquisition times when a quantum is a node's whole function and demand its query probability."""
    return _simulate(forest, forest.query, forest.parent, conditional=conditional)


def simulate_modes(
    forest: Forest, closure: Float[np.ndarray, " nodes"], *, conditional: bool
) -> Float[np.ndarray, " nodes"]:
    """Simulated acquisition times when a quantum is a local parity and demand that of all tasks that use it."""
    return _simulate(forest, closure, np.full(len(closure), -1), conditional=conditional)


def _simulate(forest: Forest, demand: np.ndarray, parent: np.ndarray, *, conditional: bool) -> np.ndarray:
    antichain = Poset.antichain(len(demand))
    if not conditional:
        return parallel(antichain, demand, ConstantComplexity(np.ones(len(demand)))).time
    reads = np.zeros((len(demand), forest.sensors), dtype=bool)
    for node, support in enumerate(forest.support):
        reads[node, list(support)] = True
    local = np.array([parity_complexity(len(support), forest.sensors) for support in forest.support])
    return parallel(antichain, demand, FeatureReuse(parent, reads, local)).time
