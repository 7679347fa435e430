import numpy as np
import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.scaling import (
    LearningWindow,
    last_stable,
    learning_window,
    median_ending_at,
    median_of_neighbours,
)

STEP = np.arange(0, 110, 10)
RULE = {"start_event": 3, "patience": 2, "improvement": 0.01}


def test_the_median_reads_the_window_with_both_its_ends():
    values = np.arange(11.0)
    assert median_ending_at(STEP, values, end=60, length=20) == 5.0
    assert median_ending_at(STEP, values, end=65, length=24) == 5.5


def test_a_window_that_selects_nothing_is_named():
    with pytest.raises(InvalidConfig, match="window of 5 steps that ends at 200 holds no evaluation"):
        median_ending_at(STEP, np.zeros(11), end=200, length=5)


def test_the_last_stable_checkpoint_is_before_a_collapse_and_after_a_recovery():
    loss = np.array([9, 8, 7, 6, 5, 4, 3, 9, 9, 9, 9.0])
    rule = {"checkpoints": [40, 50, 60, 70, 80], "length": 0, "tolerance": 0.1}
    assert last_stable(STEP, loss, **rule) == 60
    loss[8] = 3.2
    assert last_stable(STEP, loss, **rule) == 80
    assert last_stable(STEP, np.linspace(9, 1, 11), **rule) == 80


def test_the_learning_window_starts_at_the_third_acquisition_and_ends_at_the_best_loss_before_patience_ends():
    acquired = np.array([0, 1, 1, 2, 1, 3, 3, 3, 3, 3, 3])  # increases at 1, 3 and 5
    loss = np.array([9, 8, 8, 7, 7, 6, 5, 4, 3.99, 3.98, 1.0])
    # 3.99 and 3.98 are no improvement by one percent: patience ends before the last fall.
    assert learning_window(loss, acquired, **RULE) == LearningWindow(5, 7)
    assert learning_window(loss, acquired, **{**RULE, "patience": 4}) == LearningWindow(5, 10)


def test_a_trajectory_with_too_few_acquisitions_has_no_window():
    with pytest.raises(InvalidConfig, match="starts at acquisition 3, but there were 1; train longer"):
        learning_window(np.ones(5), np.array([0, 0, 1, 1, 1]), **RULE)


def test_a_window_of_too_few_evaluations_is_refused():
    with pytest.raises(InvalidConfig, match="the window holds 1 evaluations"):
        learning_window(np.ones(8), np.arange(8), **RULE)


def test_the_halves_meet_at_the_geometric_mean_and_share_no_evaluation():
    window = LearningWindow(1, 9)  # steps 10 to 90, geometric mean 30
    earlier, later = window.halves(STEP)
    assert (earlier, later) == (LearningWindow(1, 3), LearningWindow(4, 9))


def test_the_median_of_neighbours_stays_unknown_from_where_a_network_diverged():
    values = np.array([5.0, 4.0, 9.0, 3.0, np.nan, np.nan, np.nan])
    assert median_of_neighbours(values)[:3].tolist() == [4.5, 5.0, 4.0]
    assert np.isnan(median_of_neighbours(values)[3:]).all()
