"""From demand to scaling laws (section 4 and appendix "Derivations for the Scaling Regimes").

With demand p_k ≍ k^{−(1+α)} and the first K quanta learned, the loss above its floor is the unmet demand
Σ_{k>K} p_k ≍ K^{−α}. Parameters reach K(P) ≍ P^{1/(1+δ_P)} when rank k costs k^{δ_P}; data reach
K(D) ≍ D^{1/(1+α+δ_D)} when it needs k^{δ_D} occurrences. The functions on vectors are exact for finite
systems, which leave these laws once they run out of quanta; those named `…_exponent` are the laws.
The geometric specialisation 1 + α = log_ρ β is `demand.exponent`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import _require
from quantascope.theory._require import Numbers


def tail_sum(K: int, alpha: float) -> float:
    """Σ_{k>K} k^{−(1+α)}, the Hurwitz zeta function ζ(1 + α, K + 1).

    >>> round(tail_sum(0, 1.0), 6)  # π²/6
    1.644934
    """
    from scipy import special  # imported here because it is slow to import

    return float(special.zeta(1 + _alpha(alpha), _require.whole("K", K, least=0) + 1))


def tail_bounds(K: int, alpha: float) -> tuple[float, float]:
    """The lemma's ((K+1)^{−α}/α, K^{−α}/α), between which the tail lies.

    >>> tail_bounds(1, 1.0)
    (0.5, 1.0)
    """
    K, alpha = _require.whole("K", K, least=1), _alpha(alpha)
    return (K + 1) ** -alpha / alpha, K**-alpha / alpha


def rank_costs(count: int, delta_p: float, unit: float = 1.0) -> Float[np.ndarray, " ranks"]:
    """c_k = c k^{δ_P}, the parameters that rank k = 1 … count needs."""
    ranks = np.arange(1, _require.whole("count", count, least=1) + 1, dtype=float)
    return _require.positive_number("unit", unit) * ranks ** _delta("delta_p", delta_p)


def parameter_frontier(
    costs: Float[np.ndarray, " ranks"] | Sequence[float], parameters: Numbers
) -> Int[np.ndarray, " budgets"]:
    """K(P): how many quanta, in the order given, fit each parameter budget.

    >>> parameter_frontier(rank_costs(4, 1.0), [0.5, 3.0, 9.0, 1000.0]).tolist()
    [0, 2, 3, 4]
    """
    spent = np.cumsum(_require.positive("cost", costs))
    return np.searchsorted(spent, _budgets("parameters", parameters), side="right")


def data_frontier(
    demand: Float[np.ndarray, " ranks"] | Sequence[float],
    examples: Numbers,
    delta_d: float,
    occurrences: float = 1.0,
) -> Int[np.ndarray, " budgets"]:
    """K(D): the longest prefix of ranks with D p_k ≥ n k^{δ_D}, demand being sorted from the largest.

    >>> data_frontier([0.5, 0.25, 0.25], [1.0, 2.0, 4.0], delta_d=0.0).tolist()
    [0, 1, 3]
    """
    p = _ranked(demand)
    ranks = np.arange(1, p.size + 1, dtype=float)
    needed = _require.positive_number("occurrences", occurrences) * ranks ** _delta("delta_d", delta_d) / p
    # The running maximum makes the prefix end at the first rank that lacks examples.
    return np.searchsorted(np.maximum.accumulate(needed), _budgets("examples", examples), side="right")


def unmet_demand(
    demand: Float[np.ndarray, " ranks"] | Sequence[float], K: Numbers
) -> Float[np.ndarray, " counts"]:
    """L(K) − L_∞ of a finite system: the demand beyond its K most demanded quanta.

    >>> unmet_demand([0.25, 0.5, 0.125], [0, 1, 3]).tolist()
    [0.875, 0.375, 0.0]
    """
    p = _ranked(demand)
    tail = np.append(np.cumsum(p[::-1])[::-1], 0.0)
    counts = np.atleast_1d(K)
    if counts.dtype.kind not in "iu" or ((counts < 0) | (counts > p.size)).any():
        raise InvalidConfig(f"the counts {counts} do not all fit; give whole numbers from 0 to {p.size}")
    return tail[counts]


def parameter_frontier_exponent(delta_p: float) -> float:
    """1/(1+δ_P), the power of P in K(P)."""
    return 1 / (1 + _delta("delta_p", delta_p))


def data_frontier_exponent(alpha: float, delta_d: float) -> float:
    """1/(1+α+δ_D), the power of D in K(D)."""
    return 1 / (1 + _alpha(alpha) + _delta("delta_d", delta_d))


def parameter_exponent(alpha: float, delta_p: float = 0.0) -> float:
    """α/(1+δ_P), the decay of loss with parameters.

    >>> parameter_exponent(0.25), parameter_exponent(0.25, 1.0)
    (0.25, 0.125)
    """
    return _alpha(alpha) * parameter_frontier_exponent(delta_p)


def data_exponent(alpha: float, delta_d: float = 0.0) -> float:
    """α/(1+α+δ_D), the decay of loss with data.

    >>> data_exponent(0.25)
    0.2
    """
    return _alpha(alpha) * data_frontier_exponent(alpha, delta_d)


def polynomial_exponent(growth: float, decay: float) -> float:
    """α = v/u − 1, the polynomial specialisation W(d) ≍ d^u, p(d) ≍ d^{−v}.

    >>> polynomial_exponent(growth=2.0, decay=3.0)
    0.5
    """
    growth = _require.positive_number("growth", growth)
    if not growth < decay < np.inf:
        raise InvalidConfig(f"demand decays as d^-{decay!r}, quanta grow as d^{growth!r}; let decay exceed growth")
    return decay / growth - 1


def _alpha(alpha: float) -> float:
    return _require.positive_number("alpha", alpha)


def _delta(name: str, delta: float) -> float:
    # At −1 and below the total cost of all ranks stops growing as a power.
    if not -1 < delta < np.inf:
        raise InvalidConfig(f"{name} is {delta!r}; give a number above -1 (the paper uses 0)")
    return float(delta)


def _ranked(demand: Float[np.ndarray, " ranks"] | Sequence[float]) -> Float[np.ndarray, " ranks"]:
    return np.sort(_require.positive("demand", demand))[::-1]


def _budgets(name: str, values: Numbers) -> Float[np.ndarray, " budgets"]:
    return _require.nonnegative(name, np.atleast_1d(np.asarray(values, dtype=float)))
