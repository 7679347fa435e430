import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import (
    beta_for,
    data_exponent,
    data_frontier,
    data_frontier_exponent,
    exponent,
    parameter_exponent,
    parameter_frontier,
    parameter_frontier_exponent,
    polynomial_exponent,
    rank_costs,
    tail_bounds,
    tail_sum,
    unmet_demand,
    zipf,
)

alphas = st.floats(0.05, 3.0)
deltas = st.sampled_from([0.0, 1.0, 2.0])  # their powers are exact: rounding decides no boundary
demands = st.lists(st.integers(1, 100), min_size=1, max_size=30).map(lambda p: np.array(p) / 100)


@given(st.integers(1, 10**6), alphas)
def test_the_tail_lies_between_the_lemmas_bounds_and_sheds_one_term_per_rank(K, alpha):
    low, high = tail_bounds(K, alpha)
    assert low <= tail_sum(K, alpha) <= high
    assert tail_sum(K - 1, alpha) - tail_sum(K, alpha) == pytest.approx(K ** -(1 + alpha), abs=1e-11)


def test_the_tail_is_known_in_closed_form_at_alpha_one_and_three():
    assert tail_sum(0, 1.0) == pytest.approx(np.pi**2 / 6, rel=1e-14)
    assert tail_sum(2, 3.0) == pytest.approx(np.pi**4 / 90 - 1 - 1 / 16, rel=1e-12)


@given(demands, st.floats(0, 1000), deltas, st.floats(0.1, 5))
def test_the_parameter_frontier_buys_ranks_one_by_one_while_the_budget_lasts(demand, budget, delta_p, unit):
    costs = rank_costs(demand.size, delta_p, unit)
    count, spent = 0, 0.0
    while count < costs.size and spent + unit * (count + 1) ** delta_p <= budget:
        spent += unit * (count + 1) ** delta_p
        count += 1
    assert parameter_frontier(costs, [budget]).tolist() == [count]


@given(demands, st.floats(0, 1e5), deltas, st.floats(0.1, 5))
def test_the_data_frontier_ends_before_the_first_rank_that_lacks_examples(demand, examples, delta_d, needed):
    ranked = sorted(demand.tolist(), reverse=True)
    count = 0
    while count < len(ranked) and examples >= needed * (count + 1) ** delta_d / ranked[count]:
        count += 1
    assert data_frontier(demand, [examples], delta_d, needed).tolist() == [count]


def test_the_data_frontier_is_a_prefix_even_when_deeper_ranks_need_fewer_occurrences():
    # k^{−0.9}/p_k = 2, 5.36, 3.72, 2.87: at D = 4 ranks 3 and 4 have enough, but rank 2 is missing.
    assert data_frontier([0.5, 0.1, 0.1, 0.1], [1.0, 4.0, 6.0], delta_d=-0.9).tolist() == [0, 1, 4]


@given(demands)
def test_unmet_demand_is_the_sum_beyond_the_most_demanded(demand):
    ranked = sorted(demand.tolist(), reverse=True)
    counts = np.arange(demand.size + 1)
    expected = [sum(ranked[K:]) for K in counts]
    np.testing.assert_allclose(unmet_demand(demand, counts), expected, rtol=1e-12, atol=1e-15)


def slope(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_large_finite_systems_follow_the_asymptotic_exponents(alpha, delta):
    # The exact tail of the infinite family stands in for the loss, so that only the frontier is finite.
    ranks = 200_000
    demand = zipf(ranks, 1 + alpha)
    window = np.geomspace(1e3, 1e5, 20)

    budgets = np.cumsum(rank_costs(ranks, delta))[window.astype(int)]
    reached = parameter_frontier(rank_costs(ranks, delta), budgets)
    assert slope(budgets, reached) == pytest.approx(parameter_frontier_exponent(delta), rel=2e-3)
    loss = np.array([tail_sum(K, alpha) for K in reached.tolist()])
    assert slope(budgets, loss) == pytest.approx(-parameter_exponent(alpha, delta), rel=2e-3)

    examples = window**delta / demand[window.astype(int)]
    reached = data_frontier(demand, examples, delta)
    assert slope(examples, reached) == pytest.approx(data_frontier_exponent(alpha, delta), rel=2e-3)
    loss = np.array([tail_sum(K, alpha) for K in reached.tolist()])
    assert slope(examples, loss) == pytest.approx(-data_exponent(alpha, delta), rel=2e-3)


def test_the_papers_data_references_follow_from_its_exponents():
    for alpha, target in [(0.20, 0.1667), (0.25, 0.2000), (0.339137, 0.2533)]:
        assert data_exponent(alpha) == pytest.approx(target, abs=5e-5)
        assert parameter_exponent(alpha) == alpha


@given(st.integers(1, 5), st.floats(1.1, 4.0))
def test_polynomial_growth_and_decay_realise_the_specialised_exponent(growth, ratio):
    decay = growth * ratio
    depths = np.array([1e6, 2e6])
    assert slope(depths**growth, depths**-decay) == pytest.approx(
        -(1 + polynomial_exponent(float(growth), decay)), rel=1e-9
    )


def test_geometric_and_polynomial_specialisations_meet_at_the_same_relative_rate():
    assert exponent(2, beta_for(2, 0.5)) == pytest.approx(polynomial_exponent(2.0, 3.0), abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tail_sum(-1, 1.0), "K is -1; give at least 0"),
        (lambda: tail_bounds(0, 1.0), "K is 0; give at least 1"),
        (lambda: tail_sum(1, 0.0), "alpha is 0.0; give a finite number above zero"),
        (lambda: parameter_exponent(0.2, -1.0), "delta_p is -1.0; give a number above -1"),
        (lambda: data_exponent(-0.2), "alpha is -0.2"),
        (lambda: polynomial_exponent(3.0, 2.0), "let decay exceed growth"),
        (lambda: unmet_demand([0.5, 0.5], [3]), "give whole numbers from 0 to 2"),
        (lambda: unmet_demand([0.5, 0.5], [0.5]), "give whole numbers"),
        (lambda: parameter_frontier([1.0, 0.0], [1.0]), r"cost\[1\] is 0.0"),
    ],
)
def test_impossible_resources_are_refused_by_name(call, message):
    with pytest.raises(InvalidConfig, match=message):
        call()


@pytest.mark.parametrize("bad", [float("nan"), -1.0])
def test_a_budget_that_is_no_amount_is_refused(bad):
    with pytest.raises(InvalidConfig, match="parameters"):
        parameter_frontier([1.0, 1.0], [bad])
    with pytest.raises(InvalidConfig, match="examples"):
        data_frontier([0.5, 0.5], [bad], delta_d=0.0)
