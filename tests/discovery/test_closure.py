"""Closure under one parent, against the rule written out and by its properties."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.discovery import Factors
from quantascope.discovery.closure import closed, closure_edges


def random_factors(seed, events=40, intervals=8):
    rng = np.random.default_rng(seed)
    layer = np.sort(rng.integers(0, 3, 8))
    demand = rng.uniform(0.2, 0.95, (8, 1))
    return Factors(
        layer=layer,
        supports=rng.random((8, events)) < demand,
        curves=rng.random((8, intervals)),
        explained=np.full(8, 0.1),
    )


def plain_edges(factors, limit):
    edges = []
    for child in range(len(factors)):
        costs = []
        for parent in range(len(factors)):
            if factors.layer[parent] < factors.layer[child]:
                own = set(np.flatnonzero(factors.supports[child]))
                missing = own - set(np.flatnonzero(factors.supports[parent]))
                costs.append((len(missing) / len(own), -factors.supports[parent].mean(), parent))
        if costs and min(costs)[0] <= limit:
            edges.append((min(costs)[2], child))
    return sorted(edges)


@given(seed=st.integers(0, 500), limit=st.sampled_from([0.1, 0.3, 1.0]))
@settings(max_examples=40, deadline=None)
def test_each_factor_takes_the_parent_that_misses_least(seed, limit):
    factors = random_factors(seed)
    assert closure_edges(factors, limit) == plain_edges(factors, limit)


@given(seed=st.integers(0, 500))
@settings(max_examples=40, deadline=None)
def test_a_closed_child_is_nowhere_and_never_without_its_parent(seed):
    factors = random_factors(seed)
    found = closed(factors, 0.5)
    for parent, child in closure_edges(factors, 0.5):
        assert (found.supports[parent] >= found.supports[child]).all()
        assert (found.cumulative[parent] >= found.cumulative[child] - 1e-12).all()
    assert (found.supports >= factors.supports).all()
    np.testing.assert_allclose(found.curves.sum(1), factors.curves.sum(1))


def test_without_a_parent_near_enough_nothing_changes():
    factors = Factors(
        layer=np.array([0, 1]),
        supports=np.array([[1, 0, 0, 0], [0, 1, 1, 0]]).astype(bool),
        curves=np.array([[1.0, 2.0], [2.0, 1.0]]),
        explained=np.ones(2),
    )
    assert closure_edges(factors) == []
    np.testing.assert_allclose(closed(factors).curves, factors.curves)
