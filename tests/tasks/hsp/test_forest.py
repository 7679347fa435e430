from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp import Forest
from quantascope.theory import nand_probability

shapes = given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(1, 8), sensors=st.integers(2, 7))
unhurried = settings(deadline=None, max_examples=40)


def all_inputs(sensors: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=sensors)))


def scalar_output(forest: Forest, node: int, bits: list[int]) -> int:
    """Section 4.1, one bit at a time and from the node upwards."""
    parity = sum(bits[sensor] for sensor in forest.support[node]) % 2
    above = int(forest.parent[node])
    return parity if above == -1 else 1 - parity * scalar_output(forest, above, bits)


def graph_of(forest: Forest) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(forest.parent)))
    graph.add_edges_from((int(above), node) for node, above in enumerate(forest.parent) if above >= 0)
    return graph


def chain(*supports: tuple[int, ...], sensors: int) -> Forest:
    nodes = len(supports)
    return Forest(parent=np.arange(nodes) - 1, support=supports, query=np.full(nodes, 1 / nodes), sensors=sensors)


def test_a_two_level_forest_gives_the_outputs_of_a_truth_table_written_by_hand():
    forest = chain((0, 1), (2,), sensors=3)
    hand = {  # bits: (x0 ⊕ x1, NAND(x0 ⊕ x1, x2))
        (0, 0, 0): (0, 1),
        (0, 0, 1): (0, 1),
        (0, 1, 0): (1, 1),
        (0, 1, 1): (1, 0),
        (1, 0, 0): (1, 1),
        (1, 0, 1): (1, 0),
        (1, 1, 0): (0, 1),
        (1, 1, 1): (0, 1),
    }
    bits = np.array(list(hand), dtype=bool)
    assert forest.outputs(bits).astype(int).tolist() == [list(row) for row in hand.values()]


@unhurried
@shapes
def test_outputs_equal_the_scalar_recursion_on_every_input(grow_forest, seed, nodes, sensors):
    forest = grow_forest(seed, nodes=nodes, sensors=sensors)
    bits = all_inputs(sensors)
    expected = [
        [scalar_output(forest, node, row) for node in range(len(forest.parent))]
        for row in bits.astype(int).tolist()
    ]
    assert forest.outputs(bits).astype(int).tolist() == expected


@unhurried
@shapes
def test_over_all_inputs_a_node_is_true_as_often_as_its_depth_says(grow_forest, seed, nodes, sensors):
    forest = grow_forest(seed, nodes=nodes, sensors=sensors)
    share = forest.outputs(all_inputs(sensors)).mean(axis=0)
    assert share.tolist() == [nand_probability(int(depth)) for depth in forest.depth]


@unhurried
@shapes
def test_paths_depths_and_required_nodes_equal_those_of_networkx(grow_forest, seed, nodes, sensors):
    forest = grow_forest(seed, nodes=nodes, sensors=sensors)
    graph = graph_of(forest)
    for node in range(len(forest.parent)):
        root = next(n for n in [node, *nx.ancestors(graph, node)] if graph.in_degree(n) == 0)
        assert forest.path(node) == nx.shortest_path(graph, root, node)
        assert forest.depth[node] == nx.shortest_path_length(graph, root, node)
    assert forest.tasks.tolist() == [node for node, query in enumerate(forest.query) if query > 0]
    assert forest.task_probability.tolist() == [query for query in forest.query if query > 0]
    for row, node in zip(forest.requires, forest.tasks.tolist(), strict=True):
        assert set(np.flatnonzero(row).tolist()) == nx.ancestors(graph, node) | {node}


def test_moving_a_local_parity_to_another_depth_changes_the_target():
    bits = all_inputs(3)
    one, other = (
        chain(*order, sensors=3).outputs(bits)[:, 2] for order in [((0,), (1,), (2,)), ((2,), (1,), (0,))]
    )
    assert (one != other).any()


def test_the_order_of_sensors_within_a_support_does_not_matter():
    assert chain((2, 0), sensors=3).support == ((0, 2),)


def forest_with(**changes) -> Forest:
    parts = {
        "parent": np.array([-1, 0, 1]),
        "support": ((0, 1), (1, 2), (2, 3)),
        "query": np.array([0.5, 0.25, 0.25]),
        "sensors": 4,
    }
    return Forest(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parent": np.array([-1, 2, 1])}, "node 1 has parent 2; parents must come before their children"),
        ({"parent": np.array([0, 0, 1])}, "node 0 has parent 0; parents must come before"),
        ({"parent": np.array([-1, 0, -2])}, "node 2 has parent -2; parents must come before"),
        ({"support": ((0, 1), (1, 2), (1, 0))}, r"nodes 0 and 2 share the support \(0, 1\)"),
        (
            {"support": ((0, 1), (1, 2), (0, 2))},
            r"support \(0, 2\) of node 2 is linearly dependent on its path",
        ),
        ({"support": ((0,), (1,), (0, 1))}, r"support \(0, 1\) of node 2 is linearly dependent on its path"),
        ({"support": ((0, 1), (1, 2), (2, 4))}, r"node 2 has support \(2, 4\); it needs distinct sensors below 4"),
        (
            {"support": ((0, 1), (-1, 2), (2, 3))},
            r"node 1 has support \(-1, 2\); it needs .* below 4",
        ),
        ({"support": ((0, 1), (2, 2), (2, 3))}, r"node 1 has support \(2, 2\); it needs distinct sensors"),
        ({"support": ((0, 1), (), (2, 3))}, r"node 1 has support \(\); it needs distinct sensors"),
        ({"support": ((0, 1), (1, 2))}, "one parent, support and query probability per node, got 3, 2 and 3"),
        ({"query": np.array([0.5, 0.25, 0.125])}, "sum to one, got sum 0.875 and smallest 0.125"),
        ({"query": np.array([0.75, 0.5, -0.25])}, "nonnegative and sum to one, got sum 1 and smallest -0.25"),
        ({"query": np.array([0.5, 0.5, np.nan])}, "sum to one, got sum nan"),
    ],
)
def test_an_impossible_forest_is_refused_with_the_value_at_fault(changes, message):
    with pytest.raises(InvalidConfig, match=message):
        forest_with(**changes)


@unhurried
@given(masks=st.lists(st.integers(1, 31), min_size=1, max_size=5, unique=True))
def test_a_chain_is_a_forest_exactly_if_no_support_lies_in_the_span_of_those_above(masks):
    supports = [tuple(sensor for sensor in range(5) if mask >> sensor & 1) for mask in masks]
    span, independent = {0}, True
    for mask in masks:
        independent &= mask not in span
        span |= {inside ^ mask for inside in span}
    if independent:
        assert chain(*supports, sensors=5).depth.tolist() == list(range(len(masks)))
    else:
        with pytest.raises(InvalidConfig, match="linearly dependent on its path"):
            chain(*supports, sensors=5)


def test_a_support_may_depend_on_those_of_other_branches():
    forest = forest_with(parent=np.array([-1, 0, 0]), support=((0, 1), (1, 2), (2, 3)))
    assert forest.depth.tolist() == [0, 1, 1]
    split = forest_with(parent=np.array([-1, 0, -1]), support=((0, 1), (1, 2), (0, 2)))
    assert split.path(2) == [2]
