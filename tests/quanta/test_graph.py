"""Q-graphs against networkx-free answers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantascope.quanta.graph import Edge, EdgeKind, QGraph
from quantascope.quanta.labels import GateLabels
from quantascope.runs.errors import InvalidConfig


@st.composite
def orders(draw) -> tuple[int, list[tuple[int, int]]]:
    size = draw(st.integers(1, 7))
    pairs = [pair for pair in itertools.combinations(range(size), 2) if draw(st.booleans())]
    order = draw(st.permutations(range(size)))
    return size, [(order[a], order[b]) for a, b in pairs]


def graph_of(order: tuple[int, list[tuple[int, int]]]) -> QGraph:
    size, pairs = order
    return QGraph(tuple(f"Q{i}" for i in range(size)), tuple(Edge(a, b) for a, b in pairs))


def longer_paths(graph: QGraph, edge: Edge) -> bool:
    """Whether the child can be reached from the parent by two edges or more."""
    children = {q: {e.child for e in graph.edges if e.parent == q} for q in range(len(graph.names))}
    reached, pending = set(), list(children[edge.parent] - {edge.child})
    while pending:
        here = pending.pop()
        reached.add(here)
        pending += children[here]
    return edge.child in reached


@given(orders())
def test_the_reduction_drops_exactly_the_edges_that_a_longer_path_implies(order):
    graph = graph_of(order)
    assert set(graph.hasse.edges) == {edge for edge in graph.edges if not longer_paths(graph, edge)}


@given(orders())
def test_the_reduction_keeps_ancestors_and_levels(order):
    graph = graph_of(order)
    quanta = range(len(graph.names))
    assert [graph.hasse.ancestors(q) for q in quanta] == [graph.ancestors(q) for q in quanta]
    assert graph.hasse.levels == graph.levels


@given(orders())
def test_a_level_is_one_more_than_the_highest_parent(order):
    graph = graph_of(order)
    for quantum in range(len(graph.names)):
        above = [graph.levels[parent] for parent in graph.parents(quantum)]
        assert graph.levels[quantum] == (max(above) + 1 if above else 0)


def test_kinds_survive_the_reduction():
    both = EdgeKind.DATA | EdgeKind.CONTROL
    graph = QGraph(("A", "B", "C"), (Edge(0, 1, both), Edge(1, 2, EdgeKind.CONTROL), Edge(0, 2)))
    assert graph.hasse.edges == (Edge(0, 1, both), Edge(1, 2, EdgeKind.CONTROL))


@pytest.mark.parametrize(
    ("names", "edges", "says"),
    [
        (("A", "A"), (), "two quanta are named 'A'"),
        (("A", "B"), (Edge(0, 2),), "there is no quantum 2"),
        (("A", "B"), (Edge(0, 1), Edge(0, 1, EdgeKind.CONTROL)), "A -> B is given twice"),
        (("A", "B", "C"), (Edge(0, 1), Edge(1, 2), Edge(2, 0)), "A -> B -> C -> A depend on each other"),
    ],
)
def test_an_impossible_graph_is_refused(names, edges, says):
    with pytest.raises(InvalidConfig, match=says):
        QGraph(names, edges)


def test_labels_that_contradict_each_other_are_refused():
    yes, no = np.array([[True, True]]), np.array([[True, False]])
    with pytest.raises(InvalidConfig, match="quantum 1 is active in event 0 without a parent"):
        GateLabels(active=yes, eligible=no, outcome=np.array([[0, 0]]), emitter=np.array([1]))
    with pytest.raises(InvalidConfig, match="use -1 where inactive"):
        GateLabels(active=no, eligible=yes, outcome=np.array([[0, 0]]), emitter=np.array([0]))
