"""The learning poset of section 3 ("Quanta structure"): prerequisites, feasible states and their frontier.

A pair (r, q) says r ≺ q: q cannot be acquired before r. A feasible state is an ideal I (it holds every
prerequisite of what it holds), and its frontier is F(I) = {q ∉ I : Pred(q) ⊆ I}.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import SupportsIndex

import numpy as np
from jaxtyping import Bool, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import _require
from quantascope.theory.relation import Relation, distinct, frozen, levels

LARGEST_ENUMERATED = 24


@dataclass(frozen=True, eq=False)
class Poset:
    """Quanta 0 … size − 1 under prerequisite pairs (r, q); a repeated pair counts once, a cycle is refused.

    >>> diamond = Poset.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    >>> diamond.ancestors(3).tolist(), diamond.heights.tolist()
    ([0, 1, 2], [0, 1, 1, 2])
    >>> diamond.frontier(np.array([True, False, True, False])).tolist()
    [1]
    """

    size: int
    edges: Int[np.ndarray, "edges 2"] = field(repr=False)
    predecessor: Relation = field(init=False, repr=False)
    successor: Relation = field(init=False, repr=False)
    heights: Int[np.ndarray, " quanta"] = field(init=False, repr=False)
    """Length of the longest chain of prerequisites below each quantum."""

    def __post_init__(self) -> None:
        size = _require.whole("the number of quanta", self.size, least=1)
        edges = _distinct(size, self.edges)
        backward = edges[np.argsort(edges[:, 1], kind="stable")][:, ::-1]
        predecessor, successor = Relation.from_pairs(size, backward), Relation.from_pairs(size, edges)
        heights = levels(predecessor, successor)
        derived = {"predecessor": predecessor, "successor": successor, "heights": frozen(heights)}
        for name, value in {"size": size, "edges": frozen(edges), **derived}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_edges(cls, size: int, edges: Int[np.ndarray, "edges 2"] | Iterable[tuple[int, int]]) -> "Poset":
        """The poset in which r is a prerequisite of q for every pair (r, q)."""
        if isinstance(edges, np.ndarray):
            return cls(size, edges)
        return cls(size, np.array(list(edges), dtype=np.int64).reshape(-1, 2))

    @classmethod
    def forest(cls, parent: Int[np.ndarray, " quanta"]) -> "Poset":
        """The poset in which the parent of each quantum is its only direct prerequisite; −1 marks a root.

        >>> Poset.forest(np.array([-1, 0, 0, 2])).successors(0).tolist()
        [1, 2]
        """
        parent = np.asarray(parent)
        if parent.ndim != 1 or parent.dtype.kind != "i":
            raise InvalidConfig(
                f"parent has type {parent.dtype} and shape {parent.shape}; give a vector of signed integers"
            )
        child = np.flatnonzero(parent != -1)
        return cls(parent.size, np.stack([parent[child], child], axis=1))

    @classmethod
    def antichain(cls, size: int) -> "Poset":
        """Quanta without prerequisites: everything is accessible from the start."""
        return cls(size, np.empty((0, 2), dtype=np.int64))

    def predecessors(self, quantum: SupportsIndex) -> Int[np.ndarray, " neighbours"]:
        """Direct prerequisites of a quantum."""
        return self.predecessor.of(self._known(quantum))

    def successors(self, quantum: SupportsIndex) -> Int[np.ndarray, " neighbours"]:
        """Quanta of which this one is a direct prerequisite."""
        return self.successor.of(self._known(quantum))

    def ancestors(self, quantum: SupportsIndex) -> Int[np.ndarray, " ancestors"]:
        """Pred(q): all prerequisites, direct or not, in ascending order."""
        found: set[int] = set()
        pending = [self._known(quantum)]
        while pending:
            fresh = set(self.predecessor.of(pending.pop()).tolist()) - found
            found |= fresh
            pending.extend(fresh)
        return np.array(sorted(found), dtype=np.int64)

    def frontier(self, acquired: Bool[np.ndarray, " quanta"]) -> Int[np.ndarray, " accessible"]:
        """F(I) for a feasible state I, in ascending order."""
        violation = self._violation(acquired)
        if violation.size:
            r, q = self.edges[violation[0]].tolist()
            raise InvalidConfig(f"the state holds {q} without its prerequisite {r}; add {r} or drop {q}")
        missing = np.zeros(self.size, dtype=bool)
        missing[self.edges[~acquired[self.edges[:, 0]], 1]] = True
        return np.flatnonzero(~acquired & ~missing)

    def ideals(self) -> Iterator[Bool[np.ndarray, " quanta"]]:
        """Every feasible state once, the empty one first.

        >>> sum(1 for _ in Poset.from_edges(3, [(0, 1), (0, 2)]).ideals())
        5
        """
        if self.size > LARGEST_ENUMERATED:
            raise InvalidConfig(
                f"enumerating the ideals of {self.size} quanta is out of reach; "
                f"pass a poset of at most {LARGEST_ENUMERATED}"
            )
        prerequisites_first = np.argsort(self.heights, kind="stable").tolist()
        return self._enumerate(np.zeros(self.size, dtype=bool), prerequisites_first)

    def _enumerate(
        self, state: Bool[np.ndarray, " quanta"], undecided: list[int]
    ) -> Iterator[Bool[np.ndarray, " quanta"]]:
        if not undecided:
            yield state
            return
        quantum, later = undecided[0], undecided[1:]
        yield from self._enumerate(state, later)
        if state[self.predecessor.of(quantum)].all():
            larger = state.copy()
            larger[quantum] = True
            yield from self._enumerate(larger, later)

    def _violation(self, acquired: Bool[np.ndarray, " quanta"]) -> Int[np.ndarray, " violated"]:
        acquired = _require.mask("the state", acquired, self.size)
        return np.flatnonzero(acquired[self.edges[:, 1]] & ~acquired[self.edges[:, 0]])

    def _known(self, quantum: SupportsIndex) -> int:
        index = _require.whole("the quantum", quantum, least=0)
        if index >= self.size:
            raise InvalidConfig(f"there is no quantum {index}; this poset holds 0 to {self.size - 1}")
        return index


def _distinct(size: int, edges: np.ndarray) -> Int[np.ndarray, "edges 2"]:
    """The pairs sorted by prerequisite, then quantum, each once."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise InvalidConfig(
            f"edges have type {edges.dtype} and shape {edges.shape}; give integer pairs (r, q), r before q"
        )
    outside = np.flatnonzero(((edges < 0) | (edges >= size)).any(axis=1))
    if outside.size:
        pair = tuple(edges[outside[0]].tolist())
        raise InvalidConfig(f"the pair {pair} is out of range; use 0 to {size - 1}, and parent -1 for a root")
    # One integer key per pair sorts an order of magnitude faster than rows do.
    key = distinct(edges[:, 0].astype(np.int64) * size + edges[:, 1].astype(np.int64))
    return np.stack([key // size, key % size], axis=1)
