"""The bias of the exponent fitted to a finite forest, relative to the exponent that its demand prescribes.

With demand R⁻¹β^(−d) and the first d levels known, the unmet query probability is exactly (ρ/β)^d, as in an
endless forest: the law ends only inside the last level, where the loss falls to zero. So the bias comes from few
levels at the start and from the leaves at the end, and what vanishes with size is their share of the fitted range.
Learners that take every function as a *direct* task rank by query probability instead. Leaves then come before the
level above them, and the leaves' share of all queries, (ρ/β)^depth, falls only as N^(−α): this bias vanishes
far more slowly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from quantascope.runs.errors import InvalidConfig
from quantascope.theory.depth_classes import DepthClasses, prescribed_classes, sequential_classes

Order = Literal["compositional", "direct"]
REACH = 0.9
_POINTS = 64


def loss_by_count(
    classes: DepthClasses, counts: Float[np.ndarray, " counts"], order: Order
) -> Float[np.ndarray, " counts"]:
    """Unmet weight after the first K quanta of an order.

    >>> classes = prescribed_classes(roots=1, branching=2, depth=1, alpha=1.0)  # weights 1/2; 1/4, 1/4
    >>> loss_by_count(classes, np.array([0.0, 1.0, 2.0, 3.0]), "compositional").tolist()
    [1.0, 0.5, 0.25, 0.0]
    """
    if order == "compositional":
        return sequential_classes(classes).loss_at_count(counts)
    # Equal quanta leave in any order, so the loss is a straight line through each class.
    ranked = np.argsort(-classes.weight, kind="stable")
    taken = np.append(0.0, np.cumsum(classes.counts[ranked].astype(float)))
    mass = (classes.counts * classes.weight)[ranked]
    return np.interp(counts, taken, np.append(np.cumsum(mass[::-1])[::-1], 0.0))


def fitted_exponent(classes: DepthClasses, order: Order = "compositional", *, reach: float = REACH) -> float:
    """The slope of log loss on log K, from all roots known to a share `reach` of all quanta.

    >>> forest = prescribed_classes(roots=8, branching=2, depth=26, alpha=0.25)
    >>> round(fitted_exponent(forest), 3)
    0.255
    """
    total = int(classes.counts.sum())
    if not classes.roots < reach * total < total:
        raise InvalidConfig(
            f"no range to fit from {classes.roots} roots to a share {reach!r} of {total} quanta; give a deeper "
            "forest and a share below 1"
        )
    counts = np.unique(np.geomspace(classes.roots, reach * total, _POINTS).astype(np.int64))
    loss = loss_by_count(classes, counts.astype(float), order)
    return -float(np.polyfit(np.log(counts), np.log(loss), 1)[0])


@dataclass(frozen=True)
class SizeBias:
    """Exponents fitted to a forest of this many quanta."""

    depth: int
    quanta: int
    compositional: float
    direct: float


def size_biases(
    *, roots: int, branching: int, depths: range, alpha: float, reach: float = REACH
) -> Iterator[SizeBias]:
    """The fitted exponent of ever deeper forests that prescribe the same one."""
    for depth in depths:
        classes = prescribed_classes(roots=roots, branching=branching, depth=depth, alpha=alpha)
        yield SizeBias(
            depth,
            int(classes.counts.sum()),
            fitted_exponent(classes, "compositional", reach=reach),
            fitted_exponent(classes, "direct", reach=reach),
        )
