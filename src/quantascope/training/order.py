"""Infers the order and origin of checkpoints from the distances between them.

Training moves away from earlier weights: for three checkpoints a, b, c in order, d(a, c) is larger than d(a, b)
and d(b, c). Two exchanged members violate this in most of their triangles, and exchanging them back repairs nearly
all of these. A run that oscillates violates triangles too, but no exchange repairs them, so an exchange must gain
more if more triangles stay violated.

A checkpoint also contains the previous one: training adds to the weights, so the regression of a checkpoint's
weights on the previous weights has a slope near 1 (weight decay lowers it), however large the step was. For
weights of another run, from another initialization, the slope is 0.

The thresholds were chosen on training runs of other seeds than those that `benchmarks/audit_swaps.py` reports.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

Distances = Float[np.ndarray, "checkpoints checkpoints"]

WINDOW = 4
"""Triangles span at most this many intervals."""
CLIP = 0.2
"""Largest weight of one triangle, in units of log distance."""
BROKEN = 0.01
"""A triangle is violated if its long side is shorter than another by this share."""
GAIN, GAIN_IF_BROKEN = 0.008, 0.7
"""Least average gain of an exchange, and the additional gain per share of triangles that stay violated."""
FEWEST = 4
"""With fewer members, order is not judged."""
ALONE = 2.0
"""A member is an outlier if its nearest member is this many times as far away as any neighbour's."""
UNRELATED_SLOPE, UNRELATED_CORRELATION = 0.25, 0.2
"""Weights belong to another run if slope and correlation are below these."""


@dataclass(frozen=True)
class Exchange:
    """Two positions of a series whose members are exchanged."""

    first: int
    second: int
    broken: int
    """Number of violated triangles with either of them."""
    mended: int
    """Number of these that the exchange repairs."""


def exchanged(distances: Distances, norms: Float[np.ndarray, " checkpoints"] | None = None) -> list[Exchange]:
    """Pairs of members that were exchanged, from the distances in the given order.

    `norms` of the weights help to place the first member, which has only later neighbours: a large first step may
    overshoot, but it is added to the initial weights, so the norm grows by it.

    >>> places = np.array([0.0, 1.0, 4.0, 3.0, 2.0, 5.0, 6.0])
    >>> [(pair.first, pair.second) for pair in exchanged(np.abs(places[:, None] - places))]
    [(2, 4)]
    """
    order, found = np.arange(len(distances)), []
    triangles = _triangles(len(distances))
    later = _added_to_first(distances, norms)
    for _ in range(len(distances) // 3 if len(distances) >= FEWEST else 0):
        pair = _best_exchange(distances, order, triangles, later)
        if pair is None:
            break
        order[[pair.first, pair.second]] = order[[pair.second, pair.first]]
        found.append(pair)
    return found


def oscillation(distances: Distances) -> float:
    """Share of violated triangles of neighbours: 0 in most runs, 1 if every step turns back."""
    triangles = np.array([(at, at + 1, at + 2) for at in range(len(distances) - 2)]).reshape(-1, 3)
    if not len(triangles):
        return 0.0
    return float((_excess(distances, np.arange(len(distances)), triangles) < -BROKEN).mean())


def standing_aside(distances: Distances) -> list[int]:
    """Outliers: members far from two neighbours that are close to each other."""
    nearest = distances + np.where(np.eye(len(distances), dtype=bool), np.inf, 0)
    found = []
    for here in range(1, len(distances) - 1):
        own = nearest[here].min()
        around = [at for at in range(here - 2, here + 3) if at != here and 0 <= at < len(distances)]
        others = max(np.delete(nearest[at], here).min() for at in around)
        if own > ALONE * max(others, distances[here - 1, here + 1] / 2):
            found.append(here)
    return found


def lineages(products: Distances, entries: int) -> list[list[int]]:
    """Members grouped by run, from the inner products of their weights; the largest run first.

    `entries` is the number of weights. Few weights cannot distinguish runs; then all members form one run.
    """
    norms = np.sqrt(np.maximum(np.diag(products), 1e-300))
    correlations = products / norms / norms[:, None]
    # The earlier of two members is not taken from the order: weights grow, so it is the smaller one.
    growth = np.maximum(norms / norms[:, None], norms[:, None] / norms)
    slopes, doubt = np.abs(correlations) * growth, growth / max(entries, 1) ** 0.5
    usual = min(1.0, float(np.quantile(np.diag(slopes, 1), 0.75))) if len(products) > 2 else 1.0
    unrelated = (slopes + 2 * doubt < UNRELATED_SLOPE * usual) & (correlations < UNRELATED_CORRELATION)
    run_of: list[int] = []
    for member in range(len(products)):
        nearest = int(correlations[member, :member].argmax()) if member else 0
        new = not member or bool(unrelated[member, nearest])
        run_of.append(max(run_of, default=-1) + 1 if new else run_of[nearest])
    runs = [[member for member, own in enumerate(run_of) if own == run] for run in range(max(run_of) + 1)]
    return sorted(runs, key=len, reverse=True)


def _triangles(members: int) -> Int[np.ndarray, "triangles 3"]:
    found = [
        (a, b, c)
        for a in range(members)
        for b in range(a + 1, min(members, a + WINDOW))
        for c in range(b + 1, min(members, a + WINDOW + 1))
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _excess(
    distances: Distances, order: Int[np.ndarray, " checkpoints"], triangles: Int[np.ndarray, "triangles 3"]
) -> Float[np.ndarray, " triangles"]:
    """Log ratio of the side between the outer members to the longer of the other sides."""
    a, b, c = order[triangles].T
    tiny = 1e-300
    longest = np.maximum(np.maximum(distances[a, b], distances[b, c]), tiny)
    return np.log(np.maximum(distances[a, c], tiny) / longest)


def _added_to_first(distances: Distances, norms: Float[np.ndarray, " checkpoints"] | None) -> set[int]:
    """Members that are the first one with something added, and so come after it."""
    if norms is None:
        return set()
    grown = norms**2 - norms[0] ** 2 > distances[0] ** 2 / 2
    return set(np.flatnonzero(grown).tolist())


def _best_exchange(
    distances: Distances,
    order: Int[np.ndarray, " checkpoints"],
    triangles: Int[np.ndarray, "triangles 3"],
    later: set[int],
) -> Exchange | None:
    now = _excess(distances, order, triangles)
    broken = now < -BROKEN
    suspects = np.unique(triangles[now < 0])
    touched = _touched(len(order), triangles)
    best, most = None, 0.0
    for i, first in enumerate(suspects):
        for second in suspects[i + 1 :]:
            if order[first] == 0 and int(order[second]) in later:
                continue
            own = touched[first] | touched[second]
            other = order.copy()
            other[[first, second]] = other[[second, first]]
            then = _excess(distances, other, triangles[own])
            gain = float(np.clip(then, -CLIP, CLIP).mean() - np.clip(now[own], -CLIP, CLIP).mean())
            left = (broken[~own].sum() + (then < -BROKEN).sum()) / len(broken)
            surplus = gain - GAIN - GAIN_IF_BROKEN * float(left)
            if surplus > most:
                mended = int(broken[own].sum() - (then < -BROKEN).sum())
                best, most = Exchange(int(first), int(second), int(broken[own].sum()), mended), surplus
    return best


def _touched(members: int, triangles: Int[np.ndarray, "triangles 3"]) -> Bool[np.ndarray, "checkpoints triangles"]:
    touched = np.zeros((members, len(triangles)), dtype=bool)
    for corner in triangles.T:
        touched[corner, np.arange(len(triangles))] = True
    return touched
