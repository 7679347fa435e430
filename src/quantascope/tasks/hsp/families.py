"""The families of forests that the experiments use, each a config and a builder.

`build_forest` turns a family's config into a `Forest`; equal configs give equal forests.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from quantascope.runs.config import Config, Count, NonNegativeFloat, Positive, PositiveFloat, Seed, Width
from quantascope.runs.memory import check_memory
from quantascope.tasks.hsp.authors import ranked_frequency, role_supports
from quantascope.tasks.hsp.forest import Forest
from quantascope.tasks.hsp.supports import draw_supports
from quantascope.theory import forest_size, query_by_depth, regular_forest, zipf

Distractors = Annotated[int, Field(ge=0, le=10**6)]
_BYTES_OF_A_NODE = 500
"""Memory of a node: its support, its place among those in use, and the basis of its path."""


class FlatFamily(Config):
    """Unrelated parities at Zipfian frequencies (appendix A.3).

    The paper's draws are those of its released code, where a parity is true where it is even.
    """

    LATER: ClassVar[tuple[str, ...]] = ("draws",)

    kind: Literal["flat"] = "flat"
    tasks: Positive = 64
    degree: Positive = 2
    pool: Width = 32
    distractors: Distractors = 32
    exponent: NonNegativeFloat = 1.0
    support_seed: Seed = 0
    rank_seed: Seed = 0
    draws: Literal["ours", "paper"] = "ours"


class ComposedFamily(Config):
    """NAND of a private and a shared parity for each task (appendix A.2).

    The paper's draws are those of its released code: the first pool is that of the shared parities, and tasks that
    share one stand side by side.
    """

    LATER: ClassVar[tuple[str, ...]] = ("draws",)

    kind: Literal["composed"] = "composed"
    tasks: Positive = 32
    shared: Positive = 4
    private_degree: Positive = 1
    shared_degree: Positive = 3
    pool: Width = 32
    distractors: Distractors = 32
    exponent: NonNegativeFloat = 0.75
    support_seed: Seed = 0
    rank_seed: Seed = 0
    draws: Literal["ours", "paper"] = "ours"


class ClosureDemand(Config):
    """Closure demand R⁻¹β^(−depth), turned into queries by Möbius inversion (appendix C)."""

    kind: Literal["closure"] = "closure"
    beta: PositiveFloat = 2**1.2


class LevelRatio(Config):
    """Every node of a level is queried `ratio` times as often as a node one level up."""

    kind: Literal["ratio"] = "ratio"
    ratio: PositiveFloat = 1.0


class ZipfDemand(Config):
    """Frequencies r^(−exponent), with ranks assigned to nodes at random, independently of depth."""

    kind: Literal["zipf"] = "zipf"
    exponent: NonNegativeFloat = 1.0
    rank_seed: Seed = 0


class DepthMass(Config):
    """The law of the paper's released code: roots by rank, and a mass for each depth, `decay` times the next.

    Nodes of one tree and depth are queried equally often. A child is queried 1/(branching · decay) times as often
    as its parent.
    """

    kind: Literal["depth mass"] = "depth mass"
    decay: PositiveFloat = 1.0
    root_exponent: NonNegativeFloat = 0.5
    rank_seed: Seed = 0


class RegularFamily(Config):
    """Regular trees of local parities composed by NAND (appendix A.1); `even` ones as in the released code."""

    LATER: ClassVar[tuple[str, ...]] = ("even",)

    kind: Literal["regular"] = "regular"
    roots: Positive = 8
    branching: Positive = 2
    depth: Count = 5
    degree: Positive = 2
    pool: Width = 100
    distractors: Distractors = 0
    demand: Annotated[ClosureDemand | LevelRatio | ZipfDemand | DepthMass, Field(discriminator="kind")] = (
        ClosureDemand()
    )
    support_seed: Seed = 0
    even: bool = False


Family = Annotated[FlatFamily | ComposedFamily | RegularFamily, Field(discriminator="kind")]


def build_forest(family: FlatFamily | ComposedFamily | RegularFamily) -> Forest:
    """The forest of a family.

    >>> forest = build_forest(RegularFamily(roots=4, depth=3))
    >>> len(forest.tasks), float(forest.query.sum().round(12))
    (60, 1.0)
    """
    match family:
        case FlatFamily():
            _check_memory(f"tasks={family.tasks}", family.tasks, family.pool)
            return _flat(family)
        case ComposedFamily():
            what = f"tasks={family.tasks} and shared={family.shared}"
            _check_memory(what, family.tasks + family.shared, 2 * family.pool)
            return _composed(family)
        case RegularFamily():
            return _regular(family)


def _flat(family: FlatFamily) -> Forest:
    if family.draws == "paper":
        return _flat_as_authors(family)
    parent = [-1] * family.tasks
    pools = [range(family.pool)] * family.tasks
    supports = draw_supports(
        parent, [family.degree] * family.tasks, pools, np.random.default_rng(family.support_seed)
    )
    return Forest(
        parent=np.array(parent),
        support=tuple(supports),
        query=_dealt(zipf(family.tasks, family.exponent), family.rank_seed),
        sensors=family.pool + family.distractors,
    )


def _flat_as_authors(family: FlatFamily) -> Forest:
    supports = role_supports(
        family.tasks, degree=family.degree, pool=family.pool, first=0, role=0, seed=family.support_seed
    )
    return Forest(
        parent=np.full(family.tasks, -1),
        support=tuple(supports),
        query=ranked_frequency(zipf(family.tasks, family.exponent), family.rank_seed),
        sensors=family.pool + family.distractors,
        even=True,
    )


def _composed(family: ComposedFamily) -> Forest:
    """The first pool feeds the private parities, the second the shared ones, the rest distracts."""
    if family.draws == "paper":
        return _composed_as_authors(family)
    private, shared = range(family.pool), range(family.pool, 2 * family.pool)
    parent = [-1] * family.shared + [task % family.shared for task in range(family.tasks)]
    supports = draw_supports(
        parent,
        [family.shared_degree] * family.shared + [family.private_degree] * family.tasks,
        [shared] * family.shared + [private] * family.tasks,
        np.random.default_rng(family.support_seed),
    )
    frequency = _dealt(zipf(family.tasks, family.exponent), family.rank_seed)
    return Forest(
        parent=np.array(parent),
        support=tuple(supports),
        query=np.concatenate([np.zeros(family.shared), frequency]),
        sensors=2 * family.pool + family.distractors,
    )


def _composed_as_authors(family: ComposedFamily) -> Forest:
    side_by_side = np.arange(family.tasks) * family.shared // family.tasks
    roles = ((family.shared, family.shared_degree), (family.tasks, family.private_degree))
    supports = [
        role_supports(
            count, degree=degree, pool=family.pool, first=role * family.pool, role=role, seed=family.support_seed
        )
        for role, (count, degree) in enumerate(roles)
    ]
    frequency = ranked_frequency(zipf(family.tasks, family.exponent), family.rank_seed)
    return Forest(
        parent=np.concatenate([np.full(family.shared, -1), side_by_side]),
        support=(*supports[0], *supports[1]),
        query=np.concatenate([np.zeros(family.shared), frequency]),
        sensors=2 * family.pool + family.distractors,
    )


def _regular(family: RegularFamily) -> Forest:
    what = f"a forest of roots={family.roots}, branching={family.branching}, depth={family.depth}"
    _check_memory(what, forest_size(family.roots, family.branching, family.depth), family.pool)
    parent = regular_forest(family.roots, family.branching, family.depth)
    supports = draw_supports(
        parent.tolist(),
        [family.degree] * len(parent),
        [range(family.pool)] * len(parent),
        np.random.default_rng(family.support_seed),
    )
    depth = np.repeat(np.arange(family.depth + 1), family.roots * family.branching ** np.arange(family.depth + 1))
    return Forest(
        parent=parent,
        support=tuple(supports),
        query=_regular_query(family, depth),
        sensors=family.pool + family.distractors,
        even=family.even,
    )


def _regular_query(family: RegularFamily, depth: np.ndarray) -> np.ndarray:
    match family.demand:
        case ClosureDemand(beta=beta):
            return query_by_depth(family.roots, family.branching, family.depth, beta)[depth]
        case LevelRatio(ratio=ratio):
            weight = ratio ** depth.astype(float)
            return weight / weight.sum()
        case ZipfDemand(exponent=exponent, rank_seed=seed):
            return _dealt(zipf(len(depth), exponent), seed)
        case DepthMass(decay=decay, root_exponent=exponent, rank_seed=seed):
            share = ranked_frequency(zipf(family.roots, exponent), seed)
            mass = decay ** -np.arange(family.depth + 1.0)
            each = mass / mass.sum() / family.branching ** np.arange(family.depth + 1.0)
            return np.concatenate(
                [np.repeat(share, family.branching**level) * each[level] for level in range(family.depth + 1)]
            )


def _check_memory(what: str, nodes: int, pool: int) -> None:
    """Supports are kept as tuples, and as masks of one bit for each sensor of the pool."""
    check_memory(nodes * (_BYTES_OF_A_NODE + pool / 8), f"{what} over a pool of {pool} sensors")


def _dealt(frequency: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(frequency)
