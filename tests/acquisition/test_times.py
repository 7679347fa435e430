import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quantascope.acquisition import acquisition_times, first_crossing, transition_breadth

HIGH, LOW = 0.8, 0.79


def steps_of(*curves: list[float], **rule) -> list[float]:
    coefficient = np.array(curves).T
    return acquisition_times(50 * np.arange(len(coefficient)), coefficient, **rule).step.tolist()


def test_a_function_is_acquired_at_the_first_of_five_high_evaluations_in_a_row():
    assert steps_of([LOW, LOW, HIGH, 0.9, 1.0, HIGH, HIGH, LOW]) == [100.0]
    assert steps_of([HIGH] * 5) == [0.0]


def test_a_dip_starts_the_count_anew():
    assert steps_of([HIGH] * 4 + [LOW] + [HIGH] * 5) == [250.0]


def test_losing_a_function_later_does_not_undo_its_acquisition():
    assert steps_of([LOW] + [HIGH] * 5 + [LOW] * 9) == [50.0]


@pytest.mark.parametrize("curve", [[LOW] * 20, [HIGH] * 4 + [LOW], [HIGH] * 4, [HIGH], [HIGH, HIGH, LOW] * 7])
def test_a_function_without_five_high_evaluations_in_a_row_is_never_acquired(curve):
    assert np.isnan(steps_of(curve)).all()


def test_a_coefficient_that_is_not_a_number_is_not_high():
    assert steps_of([HIGH, np.nan, *[HIGH] * 5]) == [100.0]


def test_acquired_tells_which_functions_have_a_step():
    times = acquisition_times(np.arange(6), np.array([[HIGH, LOW]] * 6))
    assert times.acquired.tolist() == [True, False]
    assert times.step[0] == 0
    assert times.evaluated.tolist() == list(range(6))


curves = arrays(
    np.float64,
    st.tuples(st.integers(1, 15), st.integers(1, 4)),
    elements=st.sampled_from([0.0, LOW, HIGH, 0.9]),
)


@settings(deadline=None)
@given(coefficient=curves, consecutive=st.integers(1, 6))
def test_acquisition_and_first_crossing_equal_a_loop_over_evaluations(coefficient, consecutive):
    evaluated = 7 * np.arange(len(coefficient)) + 3
    found = acquisition_times(evaluated, coefficient, consecutive=consecutive).step
    crossed = first_crossing(evaluated, coefficient)
    for function, curve in enumerate(coefficient.T.tolist()):
        windows = [curve[start : start + consecutive] for start in range(len(curve) - consecutive + 1)]
        starts = [7.0 * i + 3 for i, window in enumerate(windows) if min(window) >= 0.8]
        reached = [7.0 * i + 3 for i, value in enumerate(curve) if value >= 0.8]
        np.testing.assert_equal(found[function], starts[0] if starts else np.nan)
        np.testing.assert_equal(crossed[function], reached[0] if reached else np.nan)


def test_first_crossing_takes_another_level():
    curve = np.array([[0.1, 0.1], [0.5, 0.2], [0.4, 0.3]])
    np.testing.assert_equal(first_crossing(np.array([0, 10, 20]), curve, level=0.5), [10.0, np.nan])


def breadth(evaluated: np.ndarray, *losses: np.ndarray) -> np.ndarray:
    return transition_breadth(evaluated, np.array(losses, dtype=float).T)


def test_a_linear_fall_is_as_broad_as_eight_tenths_of_its_duration():
    evaluated = np.arange(0, 1001, 50)
    assert breadth(evaluated, 1 - evaluated / 1000) == pytest.approx(800)


@pytest.mark.parametrize("spacing", [1, 50])
def test_a_step_is_as_broad_as_eight_tenths_of_an_interval(spacing):
    evaluated = spacing * np.arange(10)
    assert breadth(evaluated, np.arange(10) < 6) == pytest.approx(0.8 * spacing)


def test_an_exponential_fall_is_log_nine_time_constants_broad():
    evaluated, constant = np.arange(0, 20_001), 700.0
    assert breadth(evaluated, np.exp(-evaluated / constant)) == pytest.approx(constant * np.log(9), rel=1e-6)


def test_a_truncated_exponential_is_measured_by_the_fall_that_was_seen():
    evaluated, constant = np.arange(0, 1001), 700.0
    seen = 1 - np.exp(-1000 / constant)
    start, end = (-constant * np.log(1 - share * seen) for share in (0.1, 0.9))
    assert breadth(evaluated, np.exp(-evaluated / constant)) == pytest.approx(end - start, rel=1e-5)


def test_breadth_is_that_of_the_first_crossings_when_the_loss_rises_again():
    # 10 % at 20; the rise to 1 is passed over; 90 % four fifths of the way from 1/2 fallen to all fallen.
    assert breadth(np.array([0, 100, 200, 300]), np.array([1.0, 0.5, 0.5, 0.0])) == pytest.approx(280 - 20)
    assert breadth(np.array([0, 100, 200, 300]), np.array([1.0, 0.5, 1.0, 0.0])) == pytest.approx(280 - 20)


def test_breadth_does_not_depend_on_the_size_or_floor_of_the_loss():
    evaluated = np.arange(0, 500, 10)
    curve = 1 / (1 + np.exp((evaluated - 250) / 20))
    small, large = breadth(evaluated, curve, 7 * curve + 3)
    assert small == pytest.approx(large, rel=1e-9)


def test_a_loss_that_does_not_fall_has_no_breadth():
    evaluated = np.arange(3)
    np.testing.assert_equal(
        breadth(evaluated, np.ones(3), np.array([0, 1, 2]), np.array([1, np.nan, np.nan])), np.nan
    )
