from itertools import chain, combinations, product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import (
    ConditionalLosses,
    binary_entropy,
    conditional_losses,
    initial_loss,
    nand_path,
    nand_probability,
    staircase,
)


def entropy(p: float) -> float:
    return -sum(x * log2(x) for x in (p, 1 - p) if x > 0)


def brute_force(truth: np.ndarray, known: tuple[int, ...]) -> float:
    """Group the rows of the truth table by the known inputs and average the entropy of each group."""
    groups: dict[tuple[int, ...], list[bool]] = {}
    for row in product([0, 1], repeat=truth.ndim):
        groups.setdefault(tuple(row[i] for i in known), []).append(bool(truth[row]))
    return sum(entropy(sum(group) / len(group)) for group in groups.values()) / len(groups)


@given(st.integers(0, 5), st.data())
def test_conditional_losses_equal_enumeration_for_any_boolean_function(arity, data):
    bits = data.draw(st.lists(st.booleans(), min_size=2**arity, max_size=2**arity))
    truth = np.array(bits).reshape((2,) * arity)
    losses = ConditionalLosses(truth)
    subsets = chain.from_iterable(combinations(range(arity), size) for size in range(arity + 1))
    expected = {frozenset(known): brute_force(truth, known) for known in subsets}
    assert losses.levels() == pytest.approx(expected, abs=1e-12)
    assert losses.loss(range(arity)) == 0.0


def test_nand_of_two_has_the_papers_levels():
    nand = conditional_losses(nand_path(1), 2)
    assert nand.loss([]) == pytest.approx(entropy(3 / 4), abs=1e-15)
    assert nand.loss([0]) == nand.loss([1]) == 0.5
    assert nand.loss([0, 1]) == 0.0


def test_a_parity_stays_at_one_bit_until_its_last_input():
    parity = conditional_losses(lambda a, b, c: a ^ b ^ c, 3)
    assert [parity.loss(range(known)) for known in range(4)] == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("depth", range(6))
def test_nand_probability_and_initial_loss_are_those_of_the_truth_table(depth):
    losses = conditional_losses(nand_path(depth), depth + 1)
    assert losses.truth.mean() == nand_probability(depth)
    assert nand_probability(depth) == pytest.approx(2 / 3 - (-1 / 2) ** depth / 6, abs=1e-15)
    assert losses.loss([]) == initial_loss(depth)


def test_the_order_of_a_nand_path_matters():
    path = conditional_losses(nand_path(2), 3).truth
    assert not np.array_equal(path, np.moveaxis(path, 0, 2))


@given(
    st.lists(st.integers(0, 4).map(float) | st.just(np.inf), min_size=3, max_size=3),
    st.lists(st.floats(0, 5), min_size=1),
)
def test_the_staircase_is_the_conditional_loss_of_what_is_acquired(times, moments):
    losses = conditional_losses(nand_path(2), 3)
    expected = [losses.loss([i for i in range(3) if times[i] <= t]) for t in moments]
    assert staircase(losses, times, moments).tolist() == expected


def test_binary_entropy_is_exact_at_its_ends_and_symmetric():
    assert binary_entropy([0.0, 0.5, 1.0]).tolist() == [0.0, 1.0, 0.0]
    p = np.linspace(0.01, 0.49, 25)
    np.testing.assert_allclose(binary_entropy(p), [entropy(x) for x in p], rtol=1e-14)
    np.testing.assert_allclose(binary_entropy(p), binary_entropy(1 - p), rtol=1e-14)


def test_a_constant_function_loses_nothing():
    assert conditional_losses(lambda a, b: True, 2).loss([]) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binary_entropy([0.5, 1.5]), "probability 1.5 is impossible"),
        (lambda: binary_entropy(np.nan), "probability nan is impossible"),
        (lambda: conditional_losses(lambda a, b: not (a and b), 2), "wrap it in np.vectorize"),
        (lambda: conditional_losses(lambda a: 1 - a.astype(int), 1), "returns int64; return Booleans"),
        (lambda: conditional_losses(nand_path(1), 3), "depth 1 got 3 parities; give 2"),
        (lambda: conditional_losses(nand_path(20), 21), "21 inputs is too large; use at most 20"),
        (lambda: conditional_losses(nand_path(1), 2).loss([2]), r"inputs \[2\] are not all known"),
        (lambda: staircase(conditional_losses(nand_path(1), 2), [1.0], 0.0), "give 2 numbers"),
        (lambda: ConditionalLosses(np.zeros((2, 3), dtype=bool)), r"shape \(2, 3\)"),
        (lambda: nand_probability(-1), "depth is -1; give at least 0"),
    ],
)
def test_impossible_inputs_are_refused_by_name(call, message):
    with pytest.raises(InvalidConfig, match=message):
        call()
