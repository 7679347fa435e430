import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.acquisition import closed_step, reconstructed_loss
from quantascope.tasks.hsp import Forest


def forest_of(parent: list[int], weight: list[float]) -> Forest:
    return Forest(
        parent=np.array(parent),
        support=tuple((node,) for node in range(len(parent))),
        query=np.array(weight) / sum(weight),
        sensors=len(parent),
    )


def entropy_of_depth(depth: int) -> float:
    """H₂ of the share of true rows in the truth table of a NAND path, in bits."""
    true, rows = 1, 2  # a root: one of two
    for _ in range(depth):
        # Next parity 0 (as many rows again): true. Next parity 1: true where the parent is false.
        true, rows = rows + (rows - true), 2 * rows
    p = true / rows
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


def path_to(parent: list[int], node: int) -> list[int]:
    return [] if node == -1 else [*path_to(parent, parent[node]), node]


@settings(deadline=None, max_examples=60)
@given(data=st.data(), nodes=st.integers(1, 7), closed=st.booleans())
def test_the_reconstruction_sums_the_entropy_of_every_task_that_is_not_acquired(data, nodes, closed):
    parent = [data.draw(st.integers(-1, node - 1)) for node in range(nodes)]
    weight = [data.draw(st.integers(0, 3)) for _ in range(nodes - 1)] + [1]
    acquired = [data.draw(st.sampled_from([0.0, 50.0, 100.0, 150.0, np.nan])) for _ in range(nodes)]
    forest = forest_of(parent, weight)
    evaluated = [0, 49, 50, 51, 100, 1000]
    expected = []
    for step in evaluated:
        there = [time <= step for time in acquired]  # never true of NaN
        if closed:
            there = [all(there[above] for above in path_to(parent, node)) for node in range(nodes)]
        depths = [len(path_to(parent, node)) - 1 for node in range(nodes)]
        missing = [node for node in range(nodes) if not there[node]]
        expected.append(sum(weight[node] / sum(weight) * entropy_of_depth(depths[node]) for node in missing))
    found = reconstructed_loss(forest, np.array(acquired), np.array(evaluated), closed=closed)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_a_child_before_its_parent_parts_the_two_reconstructions_by_its_entropy():
    forest, evaluated = forest_of([-1, 0], [1.0, 1.0]), np.array([0, 100, 200])
    child_first = np.array([200.0, 100.0])
    child = 0.75 * np.log2(4 / 3) + 0.25 * np.log2(4)  # H₂(3/4)
    direct, closed = (reconstructed_loss(forest, child_first, evaluated, closed=c) for c in (False, True))
    np.testing.assert_allclose(direct, [(1 + child) / 2, 1 / 2, 0], rtol=1e-12)
    np.testing.assert_allclose(closed, [(1 + child) / 2, (1 + child) / 2, 0], rtol=1e-12)


def test_the_two_reconstructions_coincide_where_parents_come_first():
    forest, evaluated = forest_of([-1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0]), np.arange(0, 500, 10)
    parents_first = np.array([100.0, 200.0, 100.0, np.nan])
    direct, closed = (reconstructed_loss(forest, parents_first, evaluated, closed=c) for c in (False, True))
    assert direct.tolist() == closed.tolist()
    assert direct[-1] == pytest.approx(0.4 * entropy_of_depth(2))  # the node that was never acquired


@settings(deadline=None, max_examples=60)
@given(data=st.data(), nodes=st.integers(1, 8))
def test_a_closed_step_is_the_latest_on_the_path_and_infinite_if_one_is_missing(data, nodes):
    parent = [data.draw(st.integers(-1, node - 1)) for node in range(nodes)]
    acquired = [data.draw(st.sampled_from([10.0, 20.0, 30.0, np.nan])) for _ in range(nodes)]
    given_steps = np.array(acquired)
    found = closed_step(forest_of(parent, [1.0] * nodes), given_steps)
    later = [np.inf if np.isnan(step) else step for step in acquired]
    assert found.tolist() == [max(later[above] for above in path_to(parent, node)) for node in range(nodes)]
    np.testing.assert_equal(given_steps, acquired)
