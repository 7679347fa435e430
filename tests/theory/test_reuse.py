from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import FeatureReuse, Poset, parallel, parity_complexity


def naive_kappa(parent, reads, local, quantum: int, state: frozenset[int]) -> Fraction:
    """The definition, one ancestor and one feature at a time."""
    total, node = Fraction(0), quantum
    while node != -1:
        if node == quantum or node not in state:
            features = [f for f, read in enumerate(reads[node]) if read]
            prices = [Fraction(1, 1 + sum(reads[other][f] for other in state)) for f in features]
            total += local[node] * sum(prices) / len(features)
        node = parent[node]
    return total


def naive_parallel(demand, kappa) -> list[Fraction]:
    """The parallel clock of an antichain with all progress recomputed at every event, in fractions."""
    quanta = range(len(demand))
    state, now, time = frozenset(), Fraction(0), {}
    progress = [Fraction(0)] * len(demand)
    while len(state) < len(demand):
        rate = {q: demand[q] / kappa(q, state) for q in quanta if q not in state}
        step = min((1 - progress[q]) / rate[q] for q in rate)
        now += step
        for q in rate:
            progress[q] += step * rate[q]
        finished = [q for q in rate if progress[q] == 1]
        time |= dict.fromkeys(finished, now)
        state |= set(finished)
    return [time[q] for q in quanta]


@st.composite
def worlds(draw, largest: int):
    """Parents, features read (at least one each), local complexities and demands, as plain lists."""
    quanta, features = draw(st.integers(1, largest)), draw(st.integers(1, 5))
    parent = [draw(st.integers(-1, q - 1)) for q in range(quanta)]
    masks = [draw(st.integers(1, 2**features - 1)) for _ in range(quanta)]
    reads = [[bool(mask >> f & 1) for f in range(features)] for mask in masks]
    local, demand = ([Fraction(draw(st.integers(1, 9))) for _ in range(quanta)] for _ in range(2))
    return parent, reads, local, demand


def reuse_of(parent, reads, local) -> FeatureReuse:
    return FeatureReuse(np.array(parent), np.array(reads), [float(price) for price in local])


@settings(max_examples=50)
@given(world=worlds(largest=5))
def test_kappa_equals_its_definition_in_every_state(world):
    parent, reads, local, _ = world
    complexity = reuse_of(parent, reads, local)
    for acquired in product([False, True], repeat=len(parent)):
        state = frozenset(q for q, there in enumerate(acquired) if there)
        for quantum in range(len(parent)):
            expected = naive_kappa(parent, reads, local, quantum, state)
            assert complexity.of(quantum, np.array(acquired)) == pytest.approx(float(expected), rel=1e-12)


@settings(max_examples=50)
@given(world=worlds(largest=5))
def test_an_acquisition_changes_no_kappa_but_that_of_its_dependents(world):
    parent, reads, local, _ = world
    complexity, quanta = reuse_of(parent, reads, local), range(len(parent))
    for members in product([False, True], repeat=len(parent)):
        state = frozenset(q for q in quanta if members[q])
        for fresh in set(quanta) - state:
            dependents = set(complexity.dependents(fresh))
            for quantum in set(quanta) - dependents:
                before, after = (naive_kappa(parent, reads, local, quantum, s) for s in (state, state | {fresh}))
                assert before == after


@settings(max_examples=80)
@given(world=worlds(largest=7))
def test_the_parallel_clock_under_reuse_equals_a_naive_recomputation(world):
    parent, reads, local, demand = world
    run = parallel(Poset.antichain(len(parent)), [float(p) for p in demand], reuse_of(parent, reads, local))
    expected = naive_parallel(demand, lambda q, state: naive_kappa(parent, reads, local, q, state))
    np.testing.assert_allclose(run.time, [float(time) for time in expected], rtol=1e-9)


def test_quanta_that_share_neither_path_nor_feature_do_not_depend_on_each_other():
    reads = [[True, False, False], [False, True, False], [False, True, True]]
    complexity = reuse_of([-1, 0, -1], reads, [1, 1, 1])
    assert list(complexity.dependents(0)) == [0, 1]  # itself and its child
    assert list(complexity.dependents(1)) == [1, 2]  # a shared feature
    assert list(complexity.dependents(2)) == [1, 2]


def test_each_further_reader_makes_a_feature_cheaper():
    complexity = reuse_of([-1] * 4, [[True]] * 4, [12] * 4)
    states = [np.arange(4) < count for count in range(4)]
    assert [complexity.of(3, state) for state in states] == [12.0, 6.0, 4.0, 3.0]


@pytest.mark.parametrize(
    ("degree", "sensors", "kappa"), [(1, 100, 1.0), (2, 100, 10.0), (3, 100, 100.0), (4, 4, 8.0)]
)
def test_a_parity_from_nothing_costs_the_inverse_of_its_gradient(degree, sensors, kappa):
    assert parity_complexity(degree, sensors) == kappa


@pytest.mark.parametrize(
    ("parent", "reads", "local", "message"),
    [
        ([-1, -1], [[True], [False]], [1.0, 1.0], "quantum 1 reads no feature; give each at least one"),
        ([-1, -1], [[True], [True]], [1.0, 0.0], r"local complexity\[1\] is 0.0; give a finite number above zero"),
        ([1, 0], [[True], [True]], [1.0, 1.0], "cycle"),
    ],
)
def test_impossible_reuse_is_refused_by_name(parent, reads, local, message):
    with pytest.raises(InvalidConfig, match=message):
        reuse_of(parent, reads, local)
