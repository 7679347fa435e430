"""Demand by depth and the HSP sampler (appendix "The HSP Demand Sampler").

Prescribe the closure demand P_v = R⁻¹ β^{−d(v)}, the probability that a query lies in the subtree of v. Tree
Möbius inversion π_v = P_v − Σ_{children c} P_c gives the probability of querying v itself, which is
nonnegative on a regular ρ-ary tree when β > ρ. Demand against rank then has exponent 1 + α = log_ρ β.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import _require
from quantascope.theory.poset import Poset

_ROUNDING = 1e-12
_UNIT_MASS = 1e-9


def closure_demand(roots: int, depth: int, beta: float) -> Float[np.ndarray, " depths"]:
    """P = R⁻¹ β^{−d} of one node, for d = 0 … depth.

    >>> closure_demand(2, 2, 4.0).tolist()
    [0.5, 0.125, 0.03125]
    """
    levels = np.arange(_require.whole("depth", depth, least=0) + 1)
    return _require.positive_number("beta", beta) ** -levels.astype(float) / _require.whole("roots", roots, 1)


def query_probability(
    parent: Int[np.ndarray, " nodes"], closure: Float[np.ndarray, " nodes"] | Sequence[float]
) -> Float[np.ndarray, " nodes"]:
    """π_v = P_v − Σ_{children} P_c for any forest (parent −1 at a root) and any closure demands.

    >>> query_probability(np.array([-1, 0, 0]), [1.0, 0.25, 0.5]).tolist()
    [0.25, 0.25, 0.5]
    """
    forest = Poset.forest(parent)
    mass = _require.nonnegative("closure demand", closure, forest.size)
    rooted = float(mass[forest.heights == 0].sum())
    if abs(rooted - 1) > _UNIT_MASS:
        raise InvalidConfig(f"the closure demands of the roots sum to {rooted!r}; divide all by that sum")
    below = np.bincount(forest.edges[:, 0], weights=mass[forest.edges[:, 1]], minlength=forest.size)
    query = mass - below
    negative = np.flatnonzero(query < -_ROUNDING * mass)
    if negative.size:
        node = int(negative[0])
        raise InvalidConfig(
            f"node {node} has closure demand {float(mass[node])!r} but its children demand "
            f"{float(below[node])!r}; lower theirs (on a regular tree: take beta above the branching factor)"
        )
    return np.maximum(query, 0.0)


def closure_from_query(
    parent: Int[np.ndarray, " nodes"], query: Float[np.ndarray, " nodes"] | Sequence[float]
) -> Float[np.ndarray, " nodes"]:
    """The inverse: P_v = Σ of π over the subtree of v, accumulated from the deepest level up.

    >>> closure_from_query(np.array([-1, 0, 0]), [0.25, 0.25, 0.5]).tolist()
    [1.0, 0.25, 0.5]
    """
    forest = Poset.forest(parent)
    closure = _require.nonnegative("query probability", query, forest.size).copy()
    by_depth = np.argsort(forest.heights, kind="stable")
    levels = np.split(by_depth, np.cumsum(np.bincount(forest.heights))[:-1])
    above = np.asarray(parent)
    for level in reversed(levels[1:]):
        np.add.at(closure, above[level], closure[level])
    return closure


def query_by_depth(roots: int, branching: int, depth: int, beta: float) -> Float[np.ndarray, " depths"]:
    """π of one node of the regular forest: P_v(1 − ρ/β) above the leaves, P_v at the leaves.

    >>> query_by_depth(1, 2, 1, 4.0).tolist()
    [0.5, 0.25]
    """
    closure = closure_demand(roots, depth, beta)
    return np.append(closure[:-1] * (1 - _ratio(branching, beta)), closure[-1])


def terminal_mass(branching: int, beta: float, depth: int) -> Float[np.ndarray, " depths"]:
    """Probability that a query ends at each depth of the regular forest; it sums to one.

    Half of the paper's queries are leaves:

    >>> round(float(terminal_mass(2, 2**1.2, 5)[-1]), 12)
    0.5
    """
    ratio = _ratio(branching, beta)
    mass = ratio ** np.arange(_require.whole("depth", depth, least=0) + 1, dtype=float)
    mass[:-1] *= 1 - ratio
    return mass


def exponent(branching: int, beta: float) -> float:
    """α = log_ρ β − 1, the geometric specialisation W(d) ≍ ρ^d, p(d) ≍ β^{−d}.

    >>> round(exponent(2, 2.53), 6)
    0.339137
    """
    _ratio(branching, beta)
    return float(np.log(beta) / np.log(_branching(branching)) - 1)


def beta_for(branching: int, alpha: float) -> float:
    """β = ρ^{1+α}, which prescribes the exponent α.

    >>> round(beta_for(2, 0.2), 8)
    2.29739671
    """
    try:
        return float(_branching(branching) ** (1 + _require.positive_number("alpha", alpha)))
    except OverflowError:
        raise InvalidConfig(f"alpha {alpha!r} at branching {branching} gives no finite beta; lower one") from None


def zipf(count: int, exponent: float) -> Float[np.ndarray, " ranks"]:
    """Demand r^{−s} of ranks 1 … count, normalised to one.

    >>> zipf(2, 1.0).round(6).tolist()
    [0.666667, 0.333333]
    """
    if not np.isfinite(exponent):
        raise InvalidConfig(f"the Zipf exponent is {exponent!r}; give a finite number")
    demand = np.arange(1, _require.whole("count", count, least=1) + 1, dtype=float) ** -exponent
    return demand / demand.sum()


def _branching(branching: int) -> int:
    # A chain (ρ = 1) has no exponent: log_ρ is undefined.
    return _require.whole("branching", branching, least=2)


def _ratio(branching: int, beta: float) -> float:
    """ρ/β, below one."""
    branching = _require.whole("branching", branching, least=1)
    if not branching < beta < np.inf:
        raise InvalidConfig(
            f"beta {beta!r} does not exceed the branching factor rho = {branching}, which leaves no query "
            f"probability above the leaves; take beta above {branching}, as beta_for(branching, alpha) does"
        )
    return branching / beta
