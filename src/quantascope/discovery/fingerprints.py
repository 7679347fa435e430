"""A variant: units as communities of events that the same parameter moves help *and hurt*.

A nonnegative curve captures only help. But before a function is acquired, each move of its parameters lowers the
loss of some of its events and raises the loss of others, and this pattern is specific to the function. An event's
fingerprint is its signed priority over all intervals:

    compressed    the square root of each priority, with its sign: a few steep intervals would outweigh all others
    fingerprint   rows at unit length, principal components at the square root of their spread (so that moves
                  which touch every event count less), at unit length again
    neighbours    the ten most similar fingerprints, up to sign
    communities   Louvain's, of the graph of neighbours, at resolution 2 (standard modularity, at 1, merges small
                  communities of large graphs); their number follows from the graph
    view          a layer, or all layers side by side: the one whose communities exceed most, in modularity, those
                  of random rows with the same inner products of intervals (any cloud of few dimensions has
                  neighbours, and so communities)

Supports are the communities, curves the nonnegative mean priority of each, as in the paper, in the layer of the
view, or in the one where it explains most. It needs many intervals, priority along the actual path, and as many
events of a unit as it looks for neighbours.
"""

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from quantascope.discovery.factorize import Component, check_field, gather, squared_sum
from quantascope.discovery.factors import Factors
from quantascope.discovery.nulls.baselines import side_by_side
from quantascope.discovery.score import supports_of
from quantascope.runs.errors import InvalidConfig

_SIMILARITIES_AT_ONCE = 2**24
_RESOLUTION = 2.0


def factorize_fingerprints(
    values: Float[np.ndarray, "layers events intervals"],
    *,
    neighbours: int = 10,
    power: float = 0.5,
    seed: int = 0,
) -> Factors:
    """One factor for each community of the view with the clearest communities, largest explained share first.

    `power` compresses priorities before they are compared: 1 keeps them unchanged, 0 keeps only their signs.

    >>> rng = np.random.default_rng(0)
    >>> unit = np.repeat([0, 1, 2], 20)
    >>> moves, sign = rng.normal(size=(3, 50)), rng.choice([-1, 1], (60, 1))
    >>> found = factorize_fingerprints((sign * moves[unit] + 0.3 * rng.normal(size=(60, 50)))[None])
    >>> sorted(np.flatnonzero(support)[0].item() for support in found.supports), found.demand.round(2)
    ([0, 20, 40], array([0.33, 0.33, 0.33]))
    """
    check_field(values)
    if not 0 <= power <= 1:
        raise InvalidConfig(f"power={power} is out of range; give a number from 0 (signs only) to 1 (unchanged)")
    fields = values.astype(np.float64)
    present = [layer for layer, field in enumerate(fields) if field.any()]
    views = [([layer], fields[layer]) for layer in present]
    if len(present) != 1:
        views.append((present, side_by_side(fields)))
    layers, labels, _ = max(
        ((layers, *communities(view, neighbours=neighbours, power=power, seed=seed)) for layers, view in views),
        key=lambda found: found[2],
    )
    total = [squared_sum(field) for field in fields]
    found = []
    for support in supports_of(labels):
        options = [(layer, _component(fields[layer], support)) for layer in layers]
        layer, best = max(options, key=lambda one: one[1].removed / total[one[0]])
        if best.curve.any():
            found.append((layer, best, best.removed / total[layer]))
    found.sort(key=lambda one: -one[2])
    return gather(found, values.shape[1], values.shape[2])


def _component(field: Float[np.ndarray, "events intervals"], support: Bool[np.ndarray, " events"]) -> Component:
    """The nonnegative mean of the events of a support, with the squared error that it removes."""
    curve = np.maximum(0, field[support].mean(0))
    return Component(support, curve, squared_sum(field[support]) - squared_sum(field[support] - curve))


def communities(
    field: Float[np.ndarray, "events intervals"], *, neighbours: int = 10, power: float = 0.5, seed: int = 0
) -> tuple[Int[np.ndarray, " events"], float]:
    """A label for each event of one view (−1 without any priority), and the clarity of the labels.

    Clarity is the excess of their modularity over the modularity of the communities of random rows.
    """
    present = np.flatnonzero(field.any(1))
    if len(present) <= neighbours:
        raise InvalidConfig(
            f"{len(present)} events with priority are too few for {neighbours} neighbours each; give more events"
        )
    rows = _unit_rows(field[present].astype(np.float64))
    found, modularity = _louvain(fingerprints(rows, power), neighbours, seed)
    _, by_chance = _louvain(fingerprints(_like(rows, seed), power), neighbours, seed)
    labels = np.full(len(field), -1)
    for number, members in enumerate(found):
        labels[present[members]] = number
    return labels, modularity - by_chance


def fingerprints(
    rows: Float[np.ndarray, "events intervals"], power: float
) -> Float[np.ndarray, "events components"]:
    """Unit rows whose inner products compare the signed priority of events."""
    compressed = _unit_rows(np.sign(rows) * np.abs(rows) ** power)
    left, spread, _ = np.linalg.svd(compressed, full_matrices=False)
    return _unit_rows(left * np.sqrt(spread))


def _like(rows: Float[np.ndarray, "events intervals"], seed: int) -> Float[np.ndarray, "events intervals"]:
    """Random rows with the same inner products of intervals."""
    left, spread, right = np.linalg.svd(rows, full_matrices=False)
    random = np.linalg.qr(np.random.default_rng(seed).normal(size=left.shape))[0]
    return (random * spread) @ right


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
