"""Units as communities of events that the same moves of the parameters help *and hurt*: a variant.

A nonnegative curve sees only help. Yet before a function is acquired, each move of the parameters that it uses
lowers the loss of some of its events and raises that of others, and which moves those are is peculiar to the
function. An event's fingerprint is its signed priority over all intervals:

    fingerprint   rows of the layer's field at unit length, principal components at the square root of their
                  spread (so that moves which touch every event count less), at unit length again
    neighbours    the ten most similar fingerprints, up to sign
    communities   Louvain's, of the graph of neighbours, at resolution 2 (standard modularity, at 1, merges small
                  communities of large graphs); their number follows from the graph
    layer         the one whose communities exceed most, in modularity, those of random fingerprints with the same
                  spread (any cloud of few dimensions has neighbours, and so communities)

Supports are the communities, curves the nonnegative mean priority of each, as in the paper. It needs many
intervals (hundreds), priority along the actual path, and as many events of a unit as it looks for neighbours.
"""

import networkx as nx
import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from quantascope.errors import InvalidConfig
from quantascope.priority.factorize import Component, check_field, gather, squared_sum
from quantascope.priority.factors import Factors
from quantascope.priority.score import supports_of

_SIMILARITIES_AT_ONCE = 2**24
_RESOLUTION = 2.0


def factorize_fingerprints(
    values: Float[np.ndarray, "layers events intervals"], *, neighbours: int = 10, seed: int = 0
) -> Factors:
    """Factors of the layer with the clearest communities, one for each, largest share explained first.

    >>> rng = np.random.default_rng(0)
    >>> unit = np.repeat([0, 1, 2], 20)
    >>> moves, sign = rng.normal(size=(3, 50)), rng.choice([-1, 1], (60, 1))
    >>> found = factorize_fingerprints((sign * moves[unit] + 0.3 * rng.normal(size=(60, 50)))[None])
    >>> sorted(np.flatnonzero(support)[0].item() for support in found.supports), found.demand.round(2)
    ([0, 20, 40], array([0.33, 0.33, 0.33]))
    """
    check_field(values)
    layer, labels, _ = max(
        ((layer, *communities(field, neighbours=neighbours, seed=seed)) for layer, field in enumerate(values)),
        key=lambda found: found[2],
    )
    field = values[layer].astype(np.float64)
    total = squared_sum(field)
    found = []
    for support in supports_of(labels):
        curve = np.maximum(0, field[support].mean(0))
        before, after = squared_sum(field[support]), squared_sum(field[support] - curve)
        if curve.any():
            found.append((layer, Component(support, curve, before - after), (before - after) / total))
    found.sort(key=lambda one: -one[2])
    return gather(found, values.shape[1], values.shape[2])


def communities(
    field: Float[np.ndarray, "events intervals"], *, neighbours: int = 10, seed: int = 0
) -> tuple[Int[np.ndarray, " events"], float]:
    """A label for each event of one layer, −1 for those without any priority, and how clear the labels are.

    They are as clear as their modularity exceeds that of the communities of random fingerprints.
    """
    present = np.flatnonzero(field.any(1))
    if len(present) <= neighbours:
        raise InvalidConfig(
            f"{len(present)} events with priority are too few for {neighbours} neighbours each; give more events"
        )
    left, spread, _ = np.linalg.svd(_unit_rows(field[present].astype(np.float64)), full_matrices=False)
    random = np.linalg.qr(np.random.default_rng(seed).normal(size=left.shape))[0]
    found, modularity = _louvain(fingerprints(left, spread), neighbours, seed)
    _, by_chance = _louvain(fingerprints(random, spread), neighbours, seed)
    labels = np.full(len(field), -1)
    for number, members in enumerate(found):
        labels[present[members]] = number
    return labels, modularity - by_chance


def fingerprints(
    left: Float[np.ndarray, "events components"], spread: Float[np.ndarray, " components"]
) -> Float[np.ndarray, "events components"]:
    """Unit rows whose inner products compare events, from the singular vectors and values of their priority."""
    return _unit_rows(left * np.sqrt(spread))


def _louvain(
    prints: Float[np.ndarray, "events components"], neighbours: int, seed: int
) -> tuple[list[list[int]], float]:
    graph = nx.from_scipy_sparse_array(_neighbour_graph(prints, neighbours))
    found = nx.community.louvain_communities(graph, resolution=_RESOLUTION, seed=seed)
    return [list(members) for members in found], float(nx.community.modularity(graph, found))


def _unit_rows(rows: Float[np.ndarray, "events _"]) -> Float[np.ndarray, "events _"]:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _neighbour_graph(prints: Float[np.ndarray, "events components"], neighbours: int) -> sparse.csr_array:
    """Symmetric graph that joins each event to its neighbours, weighted by similarity up to sign."""
    events = len(prints)
    nearest, weight, step = [], [], max(1, _SIMILARITIES_AT_ONCE // events)
    for first in range(0, events, step):
        similarity = np.abs(prints[first : first + step] @ prints.T)
        rows = np.arange(len(similarity))
        similarity[rows, first + rows] = -1
        near = np.argpartition(-similarity, neighbours - 1, axis=1)[:, :neighbours]
        nearest.append(near)
        weight.append(np.take_along_axis(similarity, near, axis=1))
    rows = np.repeat(np.arange(events), neighbours)
    directed = sparse.csr_array(
        (np.concatenate(weight).ravel(), (rows, np.concatenate(nearest).ravel())), shape=(events, events)
    )
    return sparse.csr_array((directed + directed.T) / 2)
