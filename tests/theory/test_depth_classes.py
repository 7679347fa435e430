import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import (
    ConstantComplexity,
    DepthClasses,
    Poset,
    closure_demand,
    parallel,
    parallel_classes,
    prescribed_classes,
    regular_forest,
    sequential,
    sequential_classes,
    unmet_demand,
)


@st.composite
def small_classes(draw) -> dict:
    """Up to about 120 quanta; few distinct demands, so that priorities tie, rise and fall with depth."""
    depth = draw(st.integers(0, 4))
    per_depth = {"min_size": depth + 1, "max_size": depth + 1}
    return {
        "roots": draw(st.integers(1, 4)),
        "branching": draw(st.integers(1, 2)),
        "demand": 2.0 ** np.array(draw(st.lists(st.integers(-3, 0), **per_depth))),
        "complexity": 2.0 ** np.array(draw(st.lists(st.integers(0, 2), **per_depth))),
        "weight": np.array(draw(st.lists(st.integers(0, 5), **per_depth)), dtype=float),
    }


def explicit(classes: DepthClasses):
    poset = Poset.forest(regular_forest(classes.roots, classes.branching, classes.counts.size - 1))
    return poset.heights, poset, classes.demand[poset.heights], classes.complexity[poset.heights]


@pytest.mark.parametrize(
    ("by_class", "by_quantum"), [(sequential_classes, sequential), (parallel_classes, parallel)]
)
@settings(max_examples=60)
@given(fields=small_classes())
def test_classes_agree_with_the_simulation_of_every_quantum_for_any_priorities(by_class, by_quantum, fields):
    classes = DepthClasses(**fields)
    depth, poset, demand, kappa = explicit(classes)
    run, single = by_class(classes), by_quantum(poset, demand, ConstantComplexity(kappa))
    levels = range(classes.counts.size)
    assert run.first.tolist() == [single.time[depth == d].min() for d in levels]
    assert run.last.tolist() == [single.time[depth == d].max() for d in levels]

    moments = np.unique(single.time)
    times = np.concatenate([[0.0], moments, (moments[1:] + moments[:-1]) / 2])
    for t in times.tolist():
        there = [np.count_nonzero(single.time[depth == d] <= t) for d in levels]
        assert run.acquired_by_depth(t).tolist() == there
    assert run.acquired(times).tolist() == [np.count_nonzero(single.time <= t) for t in times]
    weight = classes.weight[depth]
    assert run.loss(times).tolist() == [weight[single.time > t].sum() for t in times]

    after = weight.sum() - np.concatenate([[0.0], np.cumsum(weight[single.order])])
    assert run.loss_at_count(np.arange(poset.size + 1)).tolist() == after.tolist()
    halfway = (after[1:] + after[:-1]) / 2
    assert run.loss_at_count(np.arange(poset.size) + 0.5).tolist() == halfway.tolist()


def test_counts_stay_exact_for_a_hundred_billion_quanta_whose_priority_is_not_monotone():
    # ω rises at depths 1 and 2: blocks of 1 + 10 + 100 quanta come one after another.
    demand = np.array([1.0, 4.0, 2.0, 0.5])
    run = sequential_classes(
        DepthClasses(
            roots=10**8, branching=10, demand=demand, complexity=np.ones(4), weight=np.array([1.0, 0, 0, 0])
        )
    )
    blocks = 77_777_777
    lasting = 1 + 10 / 4 + 100 / 2
    assert run.acquired_by_depth(blocks * lasting).tolist() == [blocks, 10 * blocks, 100 * blocks, 0]
    # One root and its first child later (the child precedes its own children: 4 > 2).
    assert run.acquired_by_depth(blocks * lasting + 1.3).tolist() == [
        blocks + 1,
        10 * blocks + 1,
        100 * blocks,
        0,
    ]
    assert run.loss_at_count(111 * blocks).tolist() == [10**8 - blocks]
    assert run.last[3] == 10**8 * lasting + 10**11 * 2


def test_when_demand_falls_with_depth_the_loss_at_count_is_the_ranked_tail_of_demand():
    closure = closure_demand(8, 5, 2.53)
    classes = DepthClasses(roots=8, branching=2, demand=closure, complexity=np.ones(6), weight=closure)
    every = closure[Poset.forest(regular_forest(8, 2, 5)).heights]
    counts = np.arange(505)
    for run in (sequential_classes(classes), parallel_classes(classes)):
        np.testing.assert_allclose(run.loss_at_count(counts), unmet_demand(every, counts), rtol=1e-12)


def test_regular_forest_numbers_the_papers_504_nodes_breadth_first():
    parent = regular_forest(8, 2, 5)
    assert parent.size == 504
    heights = Poset.forest(parent).heights
    assert np.bincount(heights).tolist() == [8, 16, 32, 64, 128, 256]
    assert (np.diff(heights) >= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"roots": 0}, "roots is 0; give at least 1"),
        ({"branching": 2**40}, "more than 2"),
        ({"demand": np.array([1.0, 0.0, 1.0])}, r"demand\[1\] is 0.0"),
        ({"weight": np.array([1.0, -1.0, 0.0])}, r"weight\[1\] is -1.0"),
    ],
)
def test_impossible_classes_are_refused_by_name(change, message):
    fields = {
        "roots": 1,
        "branching": 2,
        "demand": np.ones(3),
        "complexity": np.ones(3),
        "weight": np.ones(3),
    }
    with pytest.raises(InvalidConfig, match=message):
        DepthClasses(**(fields | change))


def test_a_count_beyond_the_forest_is_refused():
    classes = DepthClasses(roots=1, branching=2, demand=np.ones(2), complexity=np.ones(2), weight=np.ones(2))
    with pytest.raises(InvalidConfig, match="count 4 is outside this forest; give 0 to 3"):
        sequential_classes(classes).loss_at_count(4)


def test_an_exponent_that_leaves_no_demand_is_named():
    with pytest.raises(InvalidConfig, match=r"alpha 40\.0 leaves depth 27 no demand that is a number"):
        prescribed_classes(roots=8, branching=2, depth=30, alpha=40.0)
