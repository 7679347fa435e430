from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import (
    Acquisitions,
    ConstantComplexity,
    MissingAncestors,
    Poset,
    example_priority,
    parallel,
    regular_forest,
    sequential,
)


def naive_frontier(ancestors, state):
    return [q for q, below in enumerate(ancestors) if q not in state and below <= state]


def naive_sequential(ancestors, demand, kappa):
    """Φ_Q with everything recomputed at every event, in fractions."""
    state, now, order, time = frozenset(), Fraction(0), [], {}
    while len(state) < len(demand):
        best = max(naive_frontier(ancestors, state), key=lambda q: (demand[q] / kappa(q, state), -q))
        now += kappa(best, state) / demand[best]
        order.append(best)
        time[best] = now
        state |= {best}
    return order, time


def naive_parallel(ancestors, demand, kappa):
    """The parallel clock with all progress recomputed at every event, in fractions."""
    state, now, order, time = frozenset(), Fraction(0), [], {}
    progress = [Fraction(0)] * len(demand)
    while len(state) < len(demand):
        rate = {q: demand[q] / kappa(q, state) for q in naive_frontier(ancestors, state)}
        step = min((1 - progress[q]) / rate[q] for q in rate)
        now += step
        for q in rate:
            progress[q] += step * rate[q]
        finished = [q for q in rate if progress[q] == 1]
        order += finished
        time |= dict.fromkeys(finished, now)
        state |= set(finished)
    return order, time


class DiscountedComplexity:
    """A κ that falls and rises with arbitrary acquisitions: base_q + Σ_{r ∈ I} change[r][q]."""

    def __init__(self, base: list[int], change: list[list[int]]) -> None:
        self.base, self.change = base, change

    def of(self, quantum: int, acquired: np.ndarray) -> float:
        return float(self.exact(quantum, frozenset(np.flatnonzero(acquired).tolist())))

    def exact(self, quantum: int, state: frozenset[int]) -> Fraction:
        return Fraction(self.base[quantum] + sum(self.change[r][quantum] for r in state))

    def dependents(self, quantum: int) -> list[int]:
        return [q for q, change in enumerate(self.change[quantum]) if change]


powers_of_two = st.integers(-4, 4).map(lambda power: Fraction(2) ** power)
small = st.integers(1, 9).map(Fraction)


@st.composite
def prerequisites(draw, largest: int = 8) -> tuple[int, list[tuple[int, int]]]:
    size = draw(st.integers(1, largest))
    pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    hidden = draw(st.permutations(range(size)))
    pairs = draw(st.lists(pair, max_size=2 * size))
    return size, [(hidden[min(a, b)], hidden[max(a, b)]) for a, b in pairs if a != b]


def closure(poset: Poset) -> list[set[int]]:
    return [set(poset.ancestors(q).tolist()) for q in range(poset.size)]


def floats(values) -> np.ndarray:
    return np.array([float(value) for value in values])


def by_quantum(time: dict[int, Fraction]) -> np.ndarray:
    return floats(time[q] for q in range(len(time)))


CLOCKS = [(sequential, naive_sequential), (parallel, naive_parallel)]


@pytest.mark.parametrize(("clock", "naive"), CLOCKS)
@given(pairs=prerequisites(), data=st.data())
def test_with_binary_fractions_a_clock_equals_the_naive_simulation_to_the_last_bit(clock, naive, pairs, data):
    poset = Poset.from_edges(*pairs)
    # Powers of two make every sum exact in floating point, so that ties are ties in both.
    values = st.lists(powers_of_two, min_size=poset.size, max_size=poset.size)
    demand, kappa = data.draw(values), data.draw(values)
    run = clock(poset, floats(demand), ConstantComplexity(floats(kappa)))
    order, time = naive(closure(poset), demand, lambda q, state: kappa[q])
    assert run.order.tolist() == order
    assert run.time.tolist() == by_quantum(time).tolist()
    assert run.priority_at_acquisition.tolist() == [float(p / k) for p, k in zip(demand, kappa, strict=True)]


@pytest.mark.parametrize(("clock", "naive"), CLOCKS)
@given(pairs=prerequisites(), data=st.data())
def test_when_acquisitions_change_complexity_a_clock_equals_the_naive_simulation(clock, naive, pairs, data):
    poset = Poset.from_edges(*pairs)
    n = poset.size
    demand = data.draw(st.lists(small, min_size=n, max_size=n))
    base = data.draw(st.lists(st.integers(9, 20), min_size=n, max_size=n))
    row = st.lists(st.sampled_from([-1, 0, 0, 2]), min_size=n, max_size=n)
    complexity = DiscountedComplexity(base, data.draw(st.lists(row, min_size=n, max_size=n)))
    run = clock(poset, floats(demand), complexity)
    _, time = naive(closure(poset), demand, complexity.exact)
    np.testing.assert_allclose(run.time, by_quantum(time), rtol=1e-12)


@st.composite
def forests(draw, largest: int = 9) -> np.ndarray:
    size = draw(st.integers(1, largest))
    return np.array([draw(st.integers(-1, q - 1)) for q in range(size)])


@pytest.mark.parametrize(("clock", "naive"), CLOCKS)
@given(parent=forests(), data=st.data())
def test_missing_ancestors_cost_their_complexity_without_being_prerequisites(clock, naive, parent, data):
    n = parent.size
    ancestors = closure(Poset.forest(parent))
    values = st.lists(small, min_size=n, max_size=n)
    demand, local = data.draw(values), data.draw(values)
    run = clock(Poset.antichain(n), floats(demand), MissingAncestors(parent, floats(local)))
    _, time = naive(
        [set() for _ in range(n)],
        demand,
        lambda q, state: local[q] + sum((local[r] for r in ancestors[q] - state), Fraction(0)),
    )
    np.testing.assert_allclose(run.time, by_quantum(time), rtol=1e-12)


def test_a_demanded_child_overtakes_its_parent_only_under_the_soft_cost():
    parent, demand = np.array([-1, 0]), [0.1, 0.5]
    soft = sequential(Poset.antichain(2), demand, MissingAncestors(parent, [1.0, 1.0]))
    hard = sequential(Poset.forest(parent), demand, ConstantComplexity([1.0, 1.0]))
    assert soft.order.tolist() == [1, 0]
    assert soft.time.tolist() == [14.0, 4.0]  # 2 / 0.5 for both parities, then 1 / 0.1
    assert hard.order.tolist() == [0, 1]


def test_progress_made_before_complexity_changes_is_kept():
    # Child at rate 1/4 until its parent arrives at t = 2 (half done), then at rate 1/2: one more unit.
    run = parallel(Poset.antichain(2), [0.5, 0.5], MissingAncestors(np.array([-1, 0]), [1.0, 1.0]))
    assert run.time.tolist() == [2.0, 3.0]
    assert run.priority_at_acquisition.tolist() == [0.5, 0.5]


def test_a_quantum_due_at_the_moment_its_complexity_changes_is_acquired_at_that_moment():
    run = parallel(Poset.antichain(2), [0.5, 1.0], MissingAncestors(np.array([-1, 0]), [1.0, 1.0]))
    assert run.time.tolist() == [2.0, 2.0]
    assert run.order.tolist() == [0, 1]
    assert run.priority_at_acquisition.tolist() == [0.5, 0.5]


def test_a_million_quanta_of_a_binary_tree_arrive_at_their_closed_form_times():
    depth = 19
    poset = Poset.forest(regular_forest(1, 2, depth))
    levels = np.arange(depth + 1)
    assert poset.size == 2**20 - 1
    demand, kappa = 4.0**-poset.heights, ConstantComplexity(np.ones(poset.size))
    together = parallel(poset, demand, kappa)
    assert np.array_equal(together.time, ((4.0 ** (levels + 1) - 1) / 3)[poset.heights])
    one_by_one = sequential(poset, demand, kappa)
    assert np.array_equal(one_by_one.order, np.arange(poset.size))
    assert one_by_one.time[-1] == (8.0**20 - 1) / 7


@given(pairs=prerequisites(), data=st.data())
def test_example_priority_sums_the_priorities_of_required_frontier_quanta(pairs, data):
    poset = Poset.from_edges(*pairs)
    n = poset.size
    demand = floats(data.draw(st.lists(small, min_size=n, max_size=n)))
    kappa = ConstantComplexity(floats(data.draw(st.lists(small, min_size=n, max_size=n))))
    row = st.lists(st.booleans(), min_size=n, max_size=n)
    requires = np.array(data.draw(st.lists(row, min_size=1, max_size=4)))
    run = parallel(poset, demand, kappa)
    ancestors = closure(poset)
    for t in [0.0, *(run.time[:3]).tolist()]:
        state = frozenset(np.flatnonzero(run.time <= t).tolist())
        omega = {q: demand[q] / kappa.values[q] for q in naive_frontier(ancestors, state)}
        expected = [sum(w for q, w in omega.items() if example[q]) for example in requires]
        dense = example_priority(poset, demand, kappa, run, requires, t)
        np.testing.assert_allclose(dense, expected, rtol=1e-12)
        for form in (sparse.csr_array, sparse.coo_matrix):
            np.testing.assert_array_equal(example_priority(poset, demand, kappa, run, form(requires), t), dense)


def test_acquired_by_includes_the_moment_itself():
    run = sequential(Poset.antichain(2), [1.0, 0.5], ConstantComplexity([1.0, 1.0]))
    assert run.acquired_by(0.999).tolist() == [False, False]
    assert run.acquired_by(1.0).tolist() == [True, False]
    assert run.acquired_by(3.0).tolist() == [True, True]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda p, k: sequential(p, [0.5, 0.0], k), r"demand\[1\] is 0.0; give a finite number above zero"),
        (lambda p, k: parallel(p, [0.5, np.nan], k), r"demand\[1\] is nan"),
        (lambda p, k: parallel(p, [0.5], k), r"demand has shape \(1,\); give an array of shape \(2,\)"),
        (lambda p, k: sequential(p, [1.0, 1.0], ConstantComplexity([1.0])), "covers 1 quanta, the poset 2"),
        (lambda p, k: ConstantComplexity([1.0, -2.0]), r"complexity\[1\] is -2.0"),
        (lambda p, k: MissingAncestors(np.array([1, 0]), [1.0, 1.0]), "cycle"),
        (
            lambda p, k: parallel(p, [1.0, 1.0], DiscountedComplexity([1, 1], [[0, -1], [0, 0]])),
            "complexity of quantum 1 is 0.0; make it finite, above zero",
        ),
        (
            lambda p, k: Acquisitions(np.array([1, 0]), np.array([1.0, 2.0]), np.array([1.0, 1.0])),
            "quantum 0 at time 1.0 comes after a later one",
        ),
        (
            lambda p, k: Acquisitions(np.array([0, 0]), np.array([1.0, 2.0]), np.array([1.0, 1.0])),
            "name each quantum once",
        ),
        (
            lambda p, k: example_priority(p, [1.0, 1.0], k, sequential(p, [1.0, 1.0], k), np.array([[True]]), 0.0),
            r"requires has shape \(1, 1\); give one row per example and 2 columns",
        ),
    ],
)
def test_impossible_inputs_are_refused_by_name(run, message):
    with pytest.raises(InvalidConfig, match=message):
        run(Poset.from_edges(2, [(0, 1)]), ConstantComplexity([1.0, 1.0]))
