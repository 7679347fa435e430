import numpy as np
import pytest
from scipy import stats

from quantascope.acquisition import fit_clock, rank_correlation


def noisy_clock(functions: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    probability, depth = rng.dirichlet(np.ones(functions)), rng.integers(0, 4, functions)
    return np.exp(0.3 * rng.normal(size=functions)) * 40 * probability**-0.9 * 1.2**depth, probability, depth


@pytest.mark.parametrize("gamma", [0.5, 0.982, 1.3])
def test_an_exact_power_law_gives_back_its_exponent(gamma):
    probability = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    fit = fit_clock(70 * probability**-gamma, probability)
    assert fit.gamma == pytest.approx(gamma, rel=1e-10)
    assert fit.r2 == pytest.approx(1)
    assert fit.cost_per_level == 1
    assert fit.functions == 5


def test_an_exact_cost_per_level_is_told_apart_from_frequency():
    _, probability, depth = noisy_clock()
    fit = fit_clock(70 * probability**-0.982 * 1.14**depth, probability, depth)
    assert fit.gamma == pytest.approx(0.982, rel=1e-9)
    assert fit.cost_per_level == pytest.approx(1.14, rel=1e-9)
    assert fit.r2 == pytest.approx(1)


@pytest.mark.parametrize("with_depth", [False, True])
def test_a_noisy_fit_equals_numpys_least_squares(with_depth):
    step, probability, depth = noisy_clock()
    columns = [np.ones(40), np.log(probability), depth.astype(float)][: 3 if with_depth else 2]
    coefficient, residual, *_ = np.linalg.lstsq(np.stack(columns, axis=1), np.log(step))
    fit = fit_clock(step, probability, depth if with_depth else None)
    assert fit.gamma == pytest.approx(-coefficient[1], rel=1e-9)
    assert fit.r2 == pytest.approx(1 - residual[0] / (40 * np.log(step).var()), rel=1e-9)
    if with_depth:
        assert fit.cost_per_level == pytest.approx(np.exp(coefficient[2]), rel=1e-9)


def test_functions_that_were_never_acquired_or_known_from_the_start_are_left_out():
    step, probability, depth = noisy_clock()
    padded = np.concatenate([[np.nan, 0.0, np.inf], step])
    fit = fit_clock(padded, np.concatenate([[0.9, 0.9, 0.9], probability]), np.concatenate([[0, 0, 0], depth]))
    assert fit == fit_clock(step, probability, depth)
    assert fit.functions == 40


@pytest.mark.parametrize(("with_depth", "needed"), [(False, 3), (True, 4)])
def test_too_few_acquired_functions_leave_the_clock_undefined(with_depth, needed):
    probability, depth = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0, 1, 0, 1]) if with_depth else None
    step = 1 / probability
    step[needed - 1 :] = np.nan
    few = fit_clock(step, probability, depth)
    assert np.isnan([few.gamma, few.r2, few.cost_per_level]).all()
    assert few.functions == needed - 1
    enough = 1 / probability
    enough[needed:] = np.nan
    assert fit_clock(enough, probability, depth).gamma == pytest.approx(1)


@pytest.mark.parametrize(
    ("probability", "depth"),
    [
        (np.full(6, 1 / 6), None),
        (np.full(6, 1 / 6), np.array([0, 0, 1, 1, 2, 2])),
        (np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1]), np.ones(6, dtype=int)),
        (2.0 ** -np.array([1, 2, 3, 4, 5, 6]), np.arange(6)),  # depth says what frequency says
    ],
    ids=["uniform", "uniform_with_depth", "one_depth", "collinear"],
)
def test_a_clock_that_the_functions_leave_undetermined_is_undefined(probability, depth):
    fit = fit_clock(np.arange(1.0, 7.0), probability, depth)
    assert np.isnan([fit.gamma, fit.r2, fit.cost_per_level]).all()


def test_a_rank_correlation_is_zero_against_a_constant_and_undefined_without_two_functions():
    assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.ones(3)) == 0
    assert np.isnan(rank_correlation(np.array([1.0, np.nan]), np.array([0.1, 0.2])))


def test_the_rank_correlation_is_spearmans_over_the_acquired_functions():
    assert rank_correlation(np.array([1.0, 2.0, np.nan, 3.0]), np.array([0.4, 0.3, 0.9, 0.1])) == pytest.approx(-1)
    step, probability, _ = noisy_clock()
    step[::7] = np.nan
    seen = ~np.isnan(step)
    ranks = np.corrcoef(stats.rankdata(step[seen]), stats.rankdata(probability[seen]))[0, 1]
    assert rank_correlation(step, probability) == pytest.approx(ranks)
    assert rank_correlation(step, probability) == pytest.approx(stats.spearmanr(step[seen], probability[seen])[0])
