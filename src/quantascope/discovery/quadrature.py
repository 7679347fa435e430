"""Nested quadrature from 0 to 1: each rule reuses the nodes of the previous one.

The first rule is the Gauss-Legendre rule with two nodes. Kronrod and Patterson add n + 1 nodes to n so that the
rule is exact up to the highest possible degree: 3, 7, 17, 35 and 71 for 2, 5, 11, 23 and 47 nodes. Gauss rules
with 4, 8 and 16 nodes, which share no nodes, reach 7, 15 and 31. The new nodes are the roots of the polynomial E
of degree n + 1 for which, with the old nodes at the roots of G,

    ∫ G E xᵏ dx = 0   for k = 0 … n.
"""

from functools import cache

import numpy as np
from jaxtyping import Float
from numpy.polynomial import legendre

COUNTS = (2, 5, 11, 23, 47)
"""Number of nodes of each rule; the next rule cannot be found in double precision."""


def nodes(rule: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Nodes and weights of a rule (counted from 0); the nodes of the previous rule come first, in the same order.

    >>> [len(nodes(rule)[0]) for rule in range(len(COUNTS))] == list(COUNTS)
    True
    >>> places, weights = nodes(1)
    >>> places[:2] == nodes(0)[0], round(sum(w * p**7 for p, w in zip(places, weights)), 12)
    (True, 0.125)
    """
    places = _places(rule)
    moments = np.eye(len(places))[0]
    weights = np.linalg.solve(legendre.legvander(places, len(places) - 1).T, moments)
    return tuple(((1 + places) / 2).tolist()), tuple(weights.tolist())


@cache
def _places(rule: int) -> Float[np.ndarray, " nodes"]:
    """The nodes from -1 to 1."""
    if rule == 0:
        return legendre.leggauss(2)[0]
    known = _places(rule - 1)
    return np.concatenate([known, _added(known)])


def _added(known: Float[np.ndarray, " nodes"]) -> Float[np.ndarray, " more"]:
    """The roots of E, in Legendre's basis with leading coefficient one."""
    count = len(known)
    place, weight = legendre.leggauss(2 * count + 2)
    vanishing = np.prod(2 * (place[:, None] - known), 1)
    basis = legendre.legvander(place, count + 1)
    products = (basis[:, : count + 1] * (vanishing * weight)[:, None]).T @ basis
    lower = np.linalg.solve(products[:, :-1], -products[:, -1])
    return legendre.legroots([*lower, 1.0])
