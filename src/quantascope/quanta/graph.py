"""`QGraph`: quanta, the dependencies between them, and the resulting order.

An edge (r, q) means that q uses the output of r (data), runs only if r decides so (control), or reads a message of
r (channel). Levels are lengths of longest paths; the Hasse reduction keeps the direct edges, those that no longer
path implies.
"""

from dataclasses import dataclass, field, replace
from enum import Flag, auto
from functools import cached_property

import networkx as nx

from quantascope.runs.errors import InvalidConfig


class EdgeKind(Flag):
    """Kind of an edge; a value that is both read and branched on is data and control."""

    DATA = auto()
    CONTROL = auto()
    CHANNEL = auto()


@dataclass(frozen=True)
class Edge:
    """A dependency between two quanta, by index."""

    parent: int
    child: int
    kind: EdgeKind = EdgeKind.DATA


@dataclass(frozen=True)
class QGraph:
    """Named quanta with acyclic edges; `emitters` are the quanta that may write the output.

    >>> graph = QGraph(("read", "compare", "write"), (Edge(0, 1), Edge(1, 2), Edge(0, 2)), emitters=(2,))
    >>> graph.levels, graph.ancestors(2)
    ((0, 1, 2), (0, 1))
    >>> [(edge.parent, edge.child) for edge in graph.hasse.edges]
    [(0, 1), (1, 2)]
    """

    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    emitters: tuple[int, ...] = ()
    _graph: nx.DiGraph = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        repeated = [name for name in self.names if self.names.count(name) > 1]
        if repeated:
            raise InvalidConfig(f"two quanta are named '{repeated[0]}'; give each its own name")
        pairs = [(edge.parent, edge.child) for edge in self.edges]
        for index in {*self.emitters, *(end for pair in pairs for end in pair)}:
            if not 0 <= index < len(self.names):
                raise InvalidConfig(f"there is no quantum {index}; this graph holds 0 to {len(self.names) - 1}")
        if len(set(pairs)) < len(pairs):
            parent, child = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise InvalidConfig(f"the edge {self.names[parent]} -> {self.names[child]} is given twice; join them")
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.names)))
        graph.add_edges_from(pairs)
        if not nx.is_directed_acyclic_graph(graph):
            cycle = [self.names[parent] for parent, _ in nx.find_cycle(graph)]
            raise InvalidConfig(
                f"the quanta {' -> '.join([*cycle, cycle[0]])} depend on each other; break the cycle"
            )
        object.__setattr__(self, "_graph", graph)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Length of the longest path that ends in each quantum."""
        level = {q: depth for depth, layer in enumerate(nx.topological_generations(self._graph)) for q in layer}
        return tuple(level[q] for q in range(len(self.names)))

    @cached_property
    def by_level(self) -> tuple[tuple[int, ...], ...]:
        """The quanta of each level, in ascending order."""
        return tuple(tuple(sorted(layer)) for layer in nx.topological_generations(self._graph))

    @cached_property
    def hasse(self) -> "QGraph":
        """The graph with direct edges only (the transitive reduction)."""
        direct = set(nx.transitive_reduction(self._graph).edges)
        return replace(self, edges=tuple(edge for edge in self.edges if (edge.parent, edge.child) in direct))

    def parents(self, quantum: int) -> tuple[int, ...]:
        """The parents of a quantum, in ascending order."""
        return tuple(sorted(self._graph.predecessors(quantum)))

    def ancestors(self, quantum: int) -> tuple[int, ...]:
        """Everything that a quantum depends on, directly or not, in ascending order."""
        return tuple(sorted(nx.ancestors(self._graph, quantum)))

    def to_json(self) -> dict[str, object]:
        """Names with their levels, and edges between names, in order of level."""
        order = [quantum for layer in self.by_level for quantum in layer]
        rank = {quantum: place for place, quantum in enumerate(order)}
        edges = sorted(self.edges, key=lambda edge: (rank[edge.parent], rank[edge.child]))
        return {
            "quanta": [{"name": self.names[q], "level": self.levels[q]} for q in order],
            "edges": [[self.names[edge.parent], self.names[edge.child]] for edge in edges],
            "levels": len(self.by_level),
        }
