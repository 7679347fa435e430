"""Ordering diagnostics on factors whose order is known."""

import numpy as np
import pytest
from scipy import stats

from quantascope.discovery import Factors, improvement_correlation, mean_acquisition, ordering
from quantascope.runs.errors import InvalidConfig


def factors_at(times, sizes, layer, intervals=10, events=20):
    return Factors(
        layer=np.array(layer),
        supports=np.arange(events) < np.array(sizes)[:, None],
        curves=np.eye(intervals)[times],
        explained=np.full(len(times), 0.1),
    )


def test_correlations_are_spearman_s():
    rng = np.random.default_rng(0)
    times, sizes = rng.integers(0, 10, 12), rng.integers(1, 20, 12)
    complexity = rng.random(12) + 1
    found = ordering(factors_at(times, sizes, [0] * 12), complexity)
    assert found.time_demand == pytest.approx(stats.spearmanr(times, sizes).statistic)
    assert found.time_complexity == pytest.approx(stats.spearmanr(times, complexity).statistic)
    assert found.time_demand_over_complexity == pytest.approx(stats.spearmanr(times, sizes / complexity).statistic)


def test_layers_count_only_if_both_signs_are_as_predicted():
    factors = factors_at([0, 5, 0, 5, 3], [9, 3, 3, 9, 4], [0, 0, 1, 1, 2])
    found = ordering(factors, np.array([1.0, 2.0, 1.0, 2.0, 1.0]))
    assert (found.layers, found.predicted_layers) == (2, 1)  # a layer of one factor has no order


def test_one_factor_has_no_order():
    found = ordering(factors_at([2], [5], [0]), np.ones(1))
    assert np.isnan(found.time_complexity)
    assert found.predicted_layers == 0


def test_the_mean_curve_is_compared_with_the_loss_at_the_ends_of_intervals():
    factors = factors_at([0, 1, 2, 2], [5] * 4, [0] * 4, intervals=4)
    np.testing.assert_array_equal(mean_acquisition(factors), [0.25, 0.5, 1, 1])
    assert improvement_correlation(factors, np.array([4.0, 3.0, 2.0, 0.0, 0.0])) == pytest.approx(1)
    other = np.array([4.0, 1.0, 2.0, 1.5, 1.0])
    expected = np.corrcoef([0.25, 0.5, 1, 1], 4 - other[1:])[0, 1]
    assert improvement_correlation(factors, other) == pytest.approx(expected)
    with_start = np.corrcoef([0, 0.25, 0.5, 1, 1], 4 - other)[0, 1]
    assert improvement_correlation(factors, other, with_start=True) == pytest.approx(with_start)


def test_what_cannot_be_compared_is_refused():
    factors = factors_at([0, 1], [5, 5], [0, 0], intervals=4)
    with pytest.raises(InvalidConfig, match="4 intervals but the loss has 4 checkpoints; give the loss at all 5"):
        improvement_correlation(factors, np.array([4.0, 3.0, 2.0, 1.0]))
    with pytest.raises(InvalidConfig, match="went from 1 to 2"):
        improvement_correlation(factors, np.array([1.0, 1.0, 1.0, 1.0, 2.0]))
    with pytest.raises(InvalidConfig, match="no factors to average"):
        mean_acquisition(factors.chosen(np.zeros(2, dtype=bool)))
