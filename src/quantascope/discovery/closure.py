"""Closes factors under one parent each, as the paper's authors do before they fit a Q-model.

    parent    the factor of an earlier layer that misses the smallest share of a factor's events; of equal ones the
              one of larger demand, then the first; none if it misses more than a limit
    closure   a parent's support includes its children's events, and its cumulative curve is raised to theirs

Afterwards a quantum is active, and exists, only where its parent does. Later layers are closed first, so that
added events also reach the parent's parent. The totals of the curves stay the same.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from quantascope.discovery.factors import Factors

MOST_MISSING = 0.1
"""Largest share of a child's events that a parent may miss, as in the authors' code."""


def closure_edges(factors: Factors, most_missing: float = MOST_MISSING) -> list[tuple[int, int]]:
    """The edges as (parent, child) indices of the factors, ordered by parent.

    >>> factors = Factors(
    ...     layer=np.array([0, 0, 1]),
    ...     supports=np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0]]).astype(bool),
    ...     curves=np.ones((3, 2)),
    ...     explained=np.ones(3),
    ... )
    >>> closure_edges(factors)
    [(1, 2)]
    """
    missing = _missing_shares(factors)
    edges = []
    for child in np.flatnonzero(factors.layer > 0):
        earlier = np.flatnonzero(factors.layer < factors.layer[child])
        if len(earlier):
            parent = min(earlier, key=lambda one: (missing[one, child], -factors.demand[one], one))
            if missing[parent, child] <= most_missing:
                edges.append((int(parent), int(child)))
    return sorted(edges)


def closed(factors: Factors, most_missing: float = MOST_MISSING) -> Factors:
    """The same factors with supports and curves closed under their parents."""
    supports, cumulative = factors.supports.copy(), factors.cumulative.copy()
    for parent, child in reversed(closure_edges(factors, most_missing)):
        supports[parent] |= supports[child]
        cumulative[parent] = np.maximum(cumulative[parent], cumulative[child])
    totals = factors.curves.sum(1, keepdims=True)
    curves = np.maximum(np.diff(cumulative, axis=1, prepend=0), 0) * totals
    return replace(factors, supports=supports, curves=curves)


def _missing_shares(factors: Factors) -> Float[np.ndarray, "parents children"]:
    """The share of each child's events that each parent's support misses."""
    supports = factors.supports.astype(np.float64)
    missed = (1 - supports) @ supports.T
    return missed / np.maximum(supports.sum(1), 1)
