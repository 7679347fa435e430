"""Sparse supports of local parities (paper, appendix A.1).

Every node of a forest owns a support that no other node owns, and no support is linearly dependent over GF(2)
on those above it: each level of a path brings new information. A mask is an integer whose bits are the sensors.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from quantascope.runs.errors import InvalidConfig

Support = tuple[int, ...]


def mask_of(support: Support) -> int:
    """The support as an integer bit mask."""
    return sum(1 << sensor for sensor in support)


def reduce_mask(mask: int, basis: Sequence[int]) -> int:
    """What is left of a mask after elimination by a reduced basis; zero if it is linearly dependent.

    >>> reduce_mask(0b101, [0b110, 0b011])
    0
    """
    for vector in basis:
        mask = min(mask, mask ^ vector)
    return mask


def draw_supports(
    parent: Sequence[int], degree: Sequence[int], pools: Sequence[Sequence[int]], rng: np.random.Generator
) -> list[Support]:
    """One support for each node, parents first; `pools[v]` holds the sensors that node v may read.

    >>> draw_supports([-1, 0], [2, 2], [range(3), range(3)], np.random.default_rng(0))
    [(1, 2), (0, 2)]
    """
    _refuse_too_many(degree, pools)
    _refuse_too_deep(parent, degree, pools)
    for _ in range(_ATTEMPTS):
        supports = _try_to_draw(parent, degree, pools, rng)
        if supports is not None:
            return supports
    raise InvalidConfig(
        f"no assignment of {len(parent)} independent supports was found in {_ATTEMPTS} attempts; "
        f"use more than {len(pools[0])} sensors or a shallower forest"
    )


_ATTEMPTS = 100


def _try_to_draw(
    parent: Sequence[int], degree: Sequence[int], pools: Sequence[Sequence[int]], rng: np.random.Generator
) -> list[Support] | None:
    used: set[Support] = set()
    supports: list[Support] = []
    bases: list[list[int]] = []
    for node, above in enumerate(parent):
        basis = bases[above] if above >= 0 else []
        support = _propose(pools[node], degree[node], used, basis, rng)
        if support is None:
            return None
        used.add(support)
        supports.append(support)
        bases.append(sorted([*basis, reduce_mask(mask_of(support), basis)], reverse=True))
    return supports


def _propose(
    pool: Sequence[int], degree: int, used: set[Support], basis: Sequence[int], rng: np.random.Generator
) -> Support | None:
    """A random unused support that is independent of its path; none if a long search finds none."""
    for _ in range(50 * math.comb(len(pool), degree) if len(pool) < 12 else 10_000):
        support = tuple(sorted(int(pool[i]) for i in rng.choice(len(pool), degree, replace=False)))
        if support not in used and reduce_mask(mask_of(support), basis):
            return support
    return None


def _refuse_too_many(degree: Sequence[int], pools: Sequence[Sequence[int]]) -> None:
    groups: dict[tuple[int, Sequence[int]], int] = {}
    for size, pool in zip(degree, pools, strict=True):
        key = (size, _kind(pool))
        groups[key] = groups.get(key, 0) + 1
    for (size, pool), wanted in groups.items():
        available = math.comb(len(pool), size)
        if wanted > available:
            raise InvalidConfig(
                f"{wanted} supports of degree {size} do not fit into {len(pool)} sensors, which have "
                f"{available}; ask for at most {available}, or for at least {_pool_for(wanted, size)} sensors"
            )


def _refuse_too_deep(parent: Sequence[int], degree: Sequence[int], pools: Sequence[Sequence[int]]) -> None:
    """Refuse a path with more supports of one kind than can be independent; no search could succeed."""
    on_path: list[Counter[tuple[int, Sequence[int]]]] = []
    for above, size, pool in zip(parent, degree, pools, strict=True):
        kind = (size, _kind(pool))
        on_path.append((on_path[above] if above >= 0 else Counter()) + Counter([kind]))
        if (wanted := on_path[-1][kind]) > (most := _rank(size, len(pool))):
            raise InvalidConfig(
                f"a path of {wanted} supports of degree {size} cannot be linearly independent in {len(pool)} "
                f"sensors, which allow {most}; use more sensors or a shallower forest"
            )


def _kind(pool: Sequence[int]) -> Sequence[int]:
    """A pool as a key; a range is one, and takes no memory."""
    return pool if isinstance(pool, range) else tuple(pool)


def _rank(degree: int, sensors: int) -> int:
    """Dimension over GF(2) of what all supports of one degree span: those of even degree miss odd parities."""
    if degree == sensors:
        return 1
    return sensors if degree % 2 else sensors - 1


def _pool_for(wanted: int, degree: int) -> int:
    pool = degree
    while math.comb(pool, degree) < wanted:
        pool += 1
    return pool
