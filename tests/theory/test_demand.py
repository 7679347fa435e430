import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import (
    Poset,
    beta_for,
    closure_demand,
    closure_from_query,
    exponent,
    query_by_depth,
    query_probability,
    regular_forest,
    terminal_mass,
    zipf,
)


@st.composite
def queried_forests(draw) -> tuple[np.ndarray, np.ndarray]:
    """A forest numbered in random order, and a distribution over its nodes (zeros included)."""
    size = draw(st.integers(1, 30))
    label = draw(st.permutations(range(size)))
    parent = np.full(size, -1)
    for node in range(size):
        above = draw(st.integers(-1, node - 1))
        parent[label[node]] = -1 if above == -1 else label[above]
    mass = np.array(draw(st.lists(st.integers(0, 50), min_size=size, max_size=size)), dtype=float)
    mass[draw(st.integers(0, size - 1))] += 1
    return parent, mass / mass.sum()


@given(queried_forests())
def test_closure_is_the_mass_of_each_subtree_and_moebius_inversion_undoes_it(case):
    parent, query = case
    forest = Poset.forest(parent)
    closure = closure_from_query(parent, query)
    expected = query.copy()
    for node in range(parent.size):
        expected[forest.ancestors(node)] += query[node]
    np.testing.assert_allclose(closure, expected, atol=1e-14)
    recovered = query_probability(parent, closure)
    np.testing.assert_allclose(recovered, query, atol=1e-14)
    assert (recovered >= 0).all()
    assert recovered.sum() == pytest.approx(1, abs=1e-12)


@given(
    roots=st.integers(1, 4),
    branching=st.integers(1, 3),
    depth=st.integers(0, 5),
    excess=st.floats(1.001, 3.0),
)
def test_on_a_regular_forest_inversion_gives_the_papers_closed_forms(roots, branching, depth, excess):
    beta = branching * excess
    parent = regular_forest(roots, branching, depth)
    level = Poset.forest(parent).heights
    closure = closure_demand(roots, depth, beta)
    query = query_probability(parent, closure[level])
    assert query.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(query, query_by_depth(roots, branching, depth, beta)[level], rtol=1e-9)
    mass = terminal_mass(branching, beta, depth)
    np.testing.assert_allclose(np.bincount(level, weights=query), mass, rtol=1e-9)
    np.testing.assert_allclose(closure_from_query(parent, query), closure[level], rtol=1e-9)


def test_half_of_the_papers_queries_are_leaves():
    mass = terminal_mass(2, 2**1.2, 5)
    assert mass[-1] == pytest.approx(0.5, abs=1e-14)
    assert mass.sum() == pytest.approx(1, abs=1e-14)


def test_prescribed_betas_give_the_papers_exponents():
    for beta, alpha in [(2.29739671, 0.20), (2.37841423, 0.25), (2.53, 0.339137)]:
        assert exponent(2, beta) == pytest.approx(alpha, abs=1e-6)
        assert beta_for(2, alpha) == pytest.approx(beta, abs=2e-6)


@given(st.integers(2, 9), st.floats(0.01, 4))
def test_beta_for_inverts_exponent(branching, alpha):
    assert exponent(branching, beta_for(branching, alpha)) == pytest.approx(alpha, abs=1e-12)


def test_demand_against_cumulative_count_falls_with_slope_one_plus_alpha():
    alpha, depth = 0.3, 60
    closure = closure_demand(1, depth, beta_for(2, alpha))
    ranks = 2.0 ** np.arange(1, depth + 2) - 1  # W(d)
    slope = np.diff(np.log(closure))[-10:] / np.diff(np.log(ranks))[-10:]
    np.testing.assert_allclose(slope, -(1 + alpha), rtol=1e-12)


def test_zipf_demand_is_normalised_and_falls_as_its_exponent_says():
    demand = zipf(64, 1.0)
    assert demand.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(demand[0] / demand, np.arange(1, 65), rtol=1e-14)
    assert zipf(5, 0.0).tolist() == [0.2] * 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: terminal_mass(2, 2.0, 5),
            r"beta 2.0 does not exceed the branching factor rho = 2.*take beta above 2",
        ),
        (lambda: query_by_depth(8, 3, 5, 2.3), "beta 2.3 does not exceed the branching factor rho = 3"),
        (lambda: exponent(2, 1.5), "beta 1.5 does not exceed"),
        (lambda: exponent(1, 1.5), "branching is 1; give at least 2"),
        (lambda: beta_for(2, -0.1), "alpha is -0.1; give a finite number above zero"),
        (
            lambda: query_probability(np.array([-1, 0, 1, 1]), [1.0, 0.5, 0.5, 0.25]),
            r"node 1 has closure demand 0.5 but its children demand 0.75; lower theirs",
        ),
        (lambda: query_probability(np.array([-1, -1]), [0.5, 0.25]), "roots sum to 0.75; divide all by"),
        (lambda: query_probability(np.array([1, 0]), [0.5, 0.5]), "cycle"),
        (lambda: closure_demand(0, 5, 2.3), "roots is 0"),
        (lambda: closure_demand(1, 5, 0.0), "beta is 0.0"),
        (lambda: zipf(0, 1.0), "count is 0"),
        (lambda: zipf(3, np.inf), "exponent is inf"),
    ],
)
def test_impossible_demand_is_refused_by_name(call, message):
    with pytest.raises(InvalidConfig, match=message):
        call()
