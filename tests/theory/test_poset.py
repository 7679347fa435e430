from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import Poset
from quantascope.theory.relation import Relation


@st.composite
def acyclic(draw, largest: int = 8) -> tuple[int, list[tuple[int, int]]]:
    """Random pairs that respect a hidden random order of the quanta, with repetitions."""
    size = draw(st.integers(1, largest))
    hidden = draw(st.permutations(range(size)))
    pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    pairs = draw(st.lists(pair, max_size=2 * size))
    return size, [(hidden[min(a, b)], hidden[max(a, b)]) for a, b in pairs if a != b]


@given(acyclic())
def test_ancestors_and_heights_agree_with_networkx(case):
    size, pairs = case
    poset = Poset.from_edges(size, pairs)
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(range(size))
    for q in range(size):
        below = nx.ancestors(graph, q)
        assert poset.ancestors(q).tolist() == sorted(below)
        assert poset.heights[q] == nx.dag_longest_path_length(graph.subgraph(below | {q}))
        assert poset.predecessors(q).tolist() == sorted(graph.predecessors(q))
        assert poset.successors(q).tolist() == sorted(graph.successors(q))


@given(acyclic(largest=7))
def test_ideals_and_frontiers_are_those_found_by_trying_every_subset(case):
    size, pairs = case
    poset = Poset.from_edges(size, pairs)
    closure = [set(poset.ancestors(q).tolist()) for q in range(size)]
    feasible = set()
    for bits in product([False, True], repeat=size):
        state = {q for q in range(size) if bits[q]}
        if all(closure[q] <= state for q in state):
            feasible.add(bits)
            accessible = [q for q in range(size) if q not in state and closure[q] <= state]
            assert poset.frontier(np.array(bits)).tolist() == accessible
        else:
            with pytest.raises(InvalidConfig, match="without its prerequisite"):
                poset.frontier(np.array(bits))
    listed = [tuple(ideal.tolist()) for ideal in poset.ideals()]
    assert len(listed) == len(set(listed))
    assert set(listed) == feasible
    assert not any(listed[0])


def test_an_antichain_has_all_subsets_and_a_chain_one_more_ideal_than_quanta():
    assert sum(1 for _ in Poset.antichain(10).ideals()) == 1024
    assert sum(1 for _ in Poset.forest(np.arange(-1, 9)).ideals()) == 11


@given(acyclic(), st.data())
def test_a_closed_walk_is_refused_and_the_cycle_named_is_a_real_one(case, data):
    size, pairs = case
    length = data.draw(st.integers(1, size))
    walk = data.draw(st.permutations(range(size)))[:length]
    pairs = [*pairs, *zip(walk, [*walk[1:], walk[0]], strict=True)]
    with pytest.raises(InvalidConfig) as refusal:
        Poset.from_edges(size, pairs)
    named = str(refusal.value).split("cycle ")[1].split(";")[0].split(" -> ")
    cycle = [int(q) for q in named]
    assert cycle[0] == cycle[-1]
    assert set(pairwise(cycle)) <= set(pairs)


def test_a_long_cycle_is_shortened_to_one_line():
    around = np.stack([np.arange(1000), (np.arange(1000) + 1) % 1000], axis=1)
    with pytest.raises(InvalidConfig, match=r"\(1000 quanta\)"):
        Poset.from_edges(1000, around)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Poset.from_edges(3, [(0, 3)]), r"\(0, 3\) is out of range; use 0 to 2"),
        (lambda: Poset.from_edges(3, [(-1, 2)]), r"\(-1, 2\) is out of range"),
        (lambda: Poset.forest(np.array([-1, -2])), r"\(-2, 1\) is out of range"),
        (lambda: Poset.antichain(0), "number of quanta is 0"),
        (lambda: Poset.antichain(25).ideals(), "25 quanta is out of reach; pass a poset of at most 24"),
        (lambda: Poset.antichain(2).predecessors(2), "no quantum 2; this poset holds 0 to 1"),
        (lambda: Poset.antichain(2).frontier(np.array([True])), "give 2 Booleans"),
        (
            lambda: Poset.from_edges(2, [(0, 1)]).frontier(np.array([False, True])),
            "holds 1 without its prerequisite 0",
        ),
    ],
)
def test_a_bad_poset_or_state_is_refused_by_name(build, message):
    with pytest.raises(InvalidConfig, match=message):
        build()


def test_repeated_pairs_count_once():
    poset = Poset.from_edges(2, [(0, 1), (0, 1)])
    assert poset.edges.tolist() == [[0, 1]]
    assert poset.frontier(np.array([True, False])).tolist() == [1]


def test_narrow_and_wide_levels_give_the_same_heights():
    # A broom: a chain of 100 (narrow levels), then 1000 children of its end, each with a child (wide ones).
    parent = np.concatenate([np.arange(-1, 99), np.full(1000, 99), np.arange(100, 1100)])
    expected = np.concatenate([np.arange(100), np.full(1000, 100), np.full(1000, 101)])
    assert np.array_equal(Poset.forest(parent).heights, expected)


def test_rows_of_several_quanta_are_concatenated_in_their_order():
    relation = Relation.from_pairs(4, np.array([[0, 1], [0, 2], [2, 3]]))
    assert relation.of_all(np.array([2, 1, 0])).tolist() == [3, 1, 2]
