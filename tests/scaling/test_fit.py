import numpy as np
import pytest
from scipy import stats

from quantascope.runs.errors import InvalidConfig
from quantascope.scaling import bootstrap_exponent, compare_forms, fit_power_law

SIZES = np.geomspace(1e3, 1e6, 8)


def noisy(rng, exponent: float = 0.25, noise: float = 0.05, seeds: int = 3) -> np.ndarray:
    return SIZES**-exponent * np.exp(rng.normal(0, noise, (seeds, len(SIZES))))


def test_exponent_and_r2_are_those_of_a_linear_regression_of_logarithms(rng):
    loss = noisy(rng)[0]
    fit, expected = fit_power_law(SIZES, loss), stats.linregress(np.log(SIZES), np.log(loss))
    assert fit.exponent == pytest.approx(-expected.slope)
    assert fit.intercept == pytest.approx(expected.intercept)
    assert fit.r2 == pytest.approx(expected.rvalue**2)
    assert fit(SIZES) == pytest.approx(np.exp(expected.intercept + expected.slope * np.log(SIZES)))


def test_points_without_a_finite_positive_loss_are_left_out(rng):
    loss = noisy(rng)[0]
    spoilt = np.concatenate([loss, [np.nan, np.inf, 0.0]])
    assert fit_power_law(np.concatenate([SIZES, [1e3, 1e4, 1e5]]), spoilt) == fit_power_law(SIZES, loss)


@pytest.mark.parametrize(
    ("x", "loss"), [([1.0, 2.0], [1.0, 1.0]), ([1.0] * 3, [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1.0, np.nan, 2.0])]
)
def test_fewer_than_three_sizes_are_refused(x, loss):
    with pytest.raises(
        InvalidConfig, match=r"power law through \d different sizes is not determined; give at least 3"
    ):
        fit_power_law(x, loss)


def test_the_bootstrap_interval_covers_the_planted_exponent_about_as_often_as_it_says(rng):
    sizes = np.broadcast_to(SIZES, (3, len(SIZES)))
    hits = 0
    for _ in range(60):
        low, high = bootstrap_exponent(sizes, noisy(rng), resamples=200)
        assert low < high
        hits += low <= 0.25 <= high
    assert hits >= 45


def test_the_bootstrap_is_wider_when_seeds_differ_more(rng):
    sizes = np.broadcast_to(SIZES, (3, len(SIZES)))
    quiet, loud = (bootstrap_exponent(sizes, noisy(rng, noise=noise)) for noise in (0.01, 0.2))
    assert loud[1] - loud[0] > 5 * (quiet[1] - quiet[0])


def test_the_bootstrap_of_two_sizes_has_no_interval():
    assert bootstrap_exponent(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]])) is None


def test_the_planted_form_has_the_least_criterion(rng):
    x = np.repeat(SIZES, 3)
    noise = np.exp(rng.normal(0, 0.01, x.size))
    power = compare_forms(x, x**-0.25 * noise)
    assert power.power == min(power.power, power.exponential)
    assert power.exponential_excess > 10
    exponential = compare_forms(x, np.exp(-x / 3e5) * noise)
    assert exponential.exponential_excess < -10
    bent = np.where(x < 3e4, x**-0.1, 3e4**0.4 * x**-0.5)
    assert compare_forms(x, bent * noise).broken_excess < -10


def test_the_criterion_is_akaikes_with_its_correction(rng):
    x, loss = np.repeat(SIZES, 3), noisy(rng).T.ravel()
    residual = np.log(loss) - np.log(fit_power_law(x, loss)(x))
    n, k = x.size, 3
    expected = n * np.log(np.sum(residual**2) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    assert compare_forms(x, loss).power == pytest.approx(expected)


def test_too_few_points_cannot_tell_forms_apart():
    with pytest.raises(InvalidConfig, match="3 points at 3 sizes cannot tell forms apart"):
        compare_forms(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
