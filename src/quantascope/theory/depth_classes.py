"""Q-dynamics of a regular forest by depth class, at no cost in the number of quanta.

When demand and complexity depend on depth only, quanta of one depth are exchangeable and only their counts
matter. On the parallel clock a class arrives at once, at T_d = Σ_{j≤d} κ_j/p_j. On the sequential clock
(Φ_Q of section 3) let m_0 = 0 < m_1 < … be the depths where ω_d is no larger than at any shallower depth.
Every depth strictly between m_i and m_{i+1} has a larger ω than m_i, so that once a quantum at m_i is there,
its subtree down to m_{i+1} − 1 (a *block*) follows before any other quantum at m_i or beyond. The order is
therefore: all blocks rooted at m_0 one by one, then all at m_1, and so on; a block is its root followed by
the same construction over its ρ subtrees. When ω decreases with depth, each depth is its own block. Equal
priorities go to the shallower class, which is the lowest index under breadth-first numbering.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.runs.memory import check_memory
from quantascope.theory import _require
from quantascope.theory._require import Numbers
from quantascope.theory.demand import beta_for, closure_demand, query_by_depth

# Sums over classes and sums over single quanta round differently; a quantum this close to t counts as there.
_SAME_TIME = 1e-12
_LARGEST_COUNT = 2**62
_BYTES_OF_A_LEVEL = 40


def regular_forest(roots: int, branching: int, depth: int) -> Int[np.ndarray, " quanta"]:
    """Parents, breadth first, of `roots` regular trees; −1 for a root.

    >>> regular_forest(2, 2, 1).tolist()
    [-1, -1, 0, 0, 1, 1]
    """
    counts = _class_counts(roots, branching, depth)
    inner = sum(counts[:-1])
    check_memory(8 * sum(counts), f"a forest of {sum(counts)} quanta")
    return np.concatenate([np.full(roots, -1), np.repeat(np.arange(inner), branching)])


def forest_size(roots: int, branching: int, depth: int) -> int:
    """Quanta of a regular forest.

    >>> forest_size(2, 2, 1)
    6
    """
    return sum(_class_counts(roots, branching, depth))


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthClasses:
    """`roots` regular `branching`-ary trees; demand, complexity and loss weight of one quantum, by depth."""

    roots: int
    branching: int
    demand: Float[np.ndarray, " depths"]
    complexity: Float[np.ndarray, " depths"]
    weight: Float[np.ndarray, " depths"]
    counts: Int[np.ndarray, " depths"] = field(init=False)

    def __post_init__(self) -> None:
        demand = _require.positive("demand", self.demand)
        checked = {
            "counts": np.array(_class_counts(self.roots, self.branching, demand.size - 1)),
            "demand": demand,
            "complexity": _require.positive("complexity", self.complexity, demand.size),
            "weight": _require.nonnegative("weight", self.weight, demand.size),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def priority(self) -> Float[np.ndarray, " depths"]:
        """ω by depth."""
        return self.demand / self.complexity

    @property
    def duration(self) -> Float[np.ndarray, " depths"]:
        """κ/p by depth."""
        return self.complexity / self.demand


@dataclass(frozen=True, eq=False)
class ClassAcquisitions:
    """When the first and the last quantum of each depth arrive, and what is there at any time or count."""

    classes: DepthClasses
    first: Float[np.ndarray, " depths"]
    last: Float[np.ndarray, " depths"]
    together: bool
    """Whether a class arrives at once (the parallel clock)."""

    def acquired_by_depth(self, t: float) -> Int[np.ndarray, " depths"]:
        """Acquired quanta of each depth at time t."""
        if self.together:
            return np.where(self.last <= t * (1 + _SAME_TIME), self.classes.counts, 0)
        return self._spend(t * (1 + _SAME_TIME), self.classes.duration.tolist())

    def acquired(self, times: Numbers) -> Int[np.ndarray, " times"]:
        """Number of acquired quanta at each time."""
        return np.array([self.acquired_by_depth(t).sum() for t in np.atleast_1d(times).tolist()])

    def loss(self, times: Numbers) -> Float[np.ndarray, " times"]:
        """Total weight of the quanta that are missing at each time."""
        return np.array([self._unmet(self.acquired_by_depth(t)) for t in np.atleast_1d(times).tolist()])

    def loss_at_count(self, counts: Numbers) -> Float[np.ndarray, " counts"]:
        """Loss after the first K acquisitions, linear between whole K."""
        return np.array([self._loss_after(count) for count in np.atleast_1d(counts).tolist()])

    def _loss_after(self, count: int | float) -> float:
        total = int(self.classes.counts.sum())
        if not 0 <= count <= total:
            raise InvalidConfig(f"the count {count!r} is outside this forest; give 0 to {total} quanta")
        whole = int(count)
        here = self._unmet(self._spend(whole, [1] * self.classes.counts.size))
        if whole == count:
            return here
        following = self._unmet(self._spend(whole + 1, [1] * self.classes.counts.size))
        return here + (count - whole) * (following - here)

    def _unmet(self, acquired: Int[np.ndarray, " depths"]) -> float:
        return float((self.classes.counts - acquired) @ self.classes.weight)

    def _spend(self, budget: int | float, cost: Sequence[int | float]) -> Int[np.ndarray, " depths"]:
        """Acquire in order while `budget` lasts; whole numbers stay exact, as counts need."""
        acquired = [0] * len(cost)
        _spend(budget, cost, self._rank(), self.classes.branching, self.classes.roots, 0, acquired)
        return np.array(acquired)

    def _rank(self) -> list[float]:
        """The order of the classes, as priorities: by depth alone when they arrive together."""
        priority = self.classes.priority
        return (-np.arange(priority.size, dtype=float) if self.together else priority).tolist()


def prescribed_classes(*, roots: int, branching: int, depth: int, alpha: float) -> DepthClasses:
    """The forest whose closure demand prescribes the exponent α; equal complexities, loss by query probability.

    >>> prescribed_classes(roots=1, branching=2, depth=1, alpha=1.0).demand.tolist()
    [1.0, 0.25]
    """
    _class_counts(roots, branching, depth)  # too large a forest is named before its demand vanishes
    beta = beta_for(branching, alpha)
    demand = closure_demand(roots, depth, beta)
    if not demand.all():
        raise InvalidConfig(
            f"alpha {alpha!r} leaves depth {np.argmin(demand)} no demand that is a number; lower alpha or depth"
        )
    weight = query_by_depth(roots, branching, depth, beta)
    return DepthClasses(
        roots=roots, branching=branching, demand=demand, complexity=np.ones_like(demand), weight=weight
    )


def parallel_classes(classes: DepthClasses) -> ClassAcquisitions:
    """The parallel clock: depth d arrives whole at Σ_{j≤d} κ_j/p_j.

    >>> parallel_classes(DepthClasses(
    ...     roots=1, branching=2, demand=np.array([1.0, 0.25]), complexity=np.array([1.0, 1.0]),
    ...     weight=np.array([0.5, 0.25]))).last.tolist()
    [1.0, 5.0]
    """
    arrival = np.cumsum(classes.duration)
    return ClassAcquisitions(classes, arrival, arrival, together=True)


def sequential_classes(classes: DepthClasses) -> ClassAcquisitions:
    """The sequential clock Φ_Q, for any priorities by depth.

    Ten billion quanta, half of which are the leaves of trees 30 levels deep:

    >>> levels = np.arange(31)
    >>> run = sequential_classes(DepthClasses(
    ...     roots=5, branching=2, demand=2.0**-levels, complexity=np.ones(31), weight=4.0**-levels))
    >>> int(run.classes.counts.sum()), run.first[:2].tolist(), run.last[:2].tolist()
    (10737418235, [1.0, 7.0], [5.0, 25.0])
    >>> run.loss_at_count([0, 1, 5]).tolist() == [5 * (2 - 2.0**-30) - spent for spent in (0, 1, 5)]
    True
    """
    cost, rank = classes.duration.tolist(), classes.priority.tolist()
    first, last = _extremes(cost, rank, classes.branching, classes.roots, 0)
    return ClassAcquisitions(classes, np.array(first), np.array(last), together=False)


def _class_counts(roots: int, branching: int, depth: int) -> list[int]:
    roots = _require.whole("roots", roots, least=1)
    branching = _require.whole("branching", branching, least=1)
    depth = _require.whole("depth", depth, least=0)
    check_memory(_BYTES_OF_A_LEVEL * depth, f"depth {depth}")
    counts, total = [], 0
    for _ in range(depth + 1):
        counts.append(counts[-1] * branching if counts else roots)
        total += counts[-1]
        if total > _LARGEST_COUNT:
            raise InvalidConfig(
                f"depth {depth} at branching {branching} and {roots} roots holds more than 2^62 quanta; "
                "lower one of them"
            )
    return counts


def _blocks(rank: Sequence[float], top: int) -> Iterator[tuple[int, int]]:
    """Depth ranges [m_i, m_{i+1}) between successive least priorities from depth `top` on."""
    start = top
    for depth in range(top + 1, len(rank)):
        if rank[depth] <= rank[start]:
            yield start, depth
            start = depth
    if top < len(rank):
        yield start, len(rank)


def _spend(
    budget: int | float,
    cost: Sequence[int | float],
    rank: Sequence[float],
    branching: int,
    roots: int,
    top: int,
    acquired: list[int],
) -> None:
    """Add to `acquired` what `budget` buys, in order, of `roots` trees from depth `top` to len(rank) − 1."""
    for start, stop in _blocks(rank, top):
        sizes = [branching**level for level in range(stop - start)]
        price = sum(size * cost[start + level] for level, size in enumerate(sizes))
        blocks = roots * branching ** (start - top)
        bought = min(blocks, int(budget // price))
        for level, size in enumerate(sizes):
            acquired[start + level] += bought * size
        budget -= bought * price
        if bought < blocks:
            if budget >= cost[start]:
                acquired[start] += 1
                _spend(budget - cost[start], cost, rank[:stop], branching, branching, start + 1, acquired)
            return


def _extremes(
    cost: Sequence[float], rank: Sequence[float], branching: int, roots: int, top: int
) -> tuple[list[float], list[float]]:
    """First and last acquisition times of depths top … len(rank) − 1, the clock starting with these trees."""
    first: list[float] = []
    last: list[float] = []
    origin = 0.0
    for start, stop in _blocks(rank, top):
        price = sum(branching ** (depth - start) * cost[depth] for depth in range(start, stop))
        blocks = roots * branching ** (start - top)
        inner_first, inner_last = _extremes(cost, rank[:stop], branching, branching, start + 1)
        root = origin + cost[start]
        final_root = root + (blocks - 1) * price
        first += [root, *(root + after for after in inner_first)]
        last += [final_root, *(final_root + after for after in inner_last)]
        origin += blocks * price
    return first, last
