"""The clock of the benchmark of reading."""

import time

import pytest

from artefact_reading import seconds


def test_the_least_time_of_a_call_is_found_though_calls_are_repeated_and_take_turns(monkeypatch):
    now = 0.0
    costs = iter([3.0, 1.0, 2.0, 1.0, 1.0, 2.0, 5.0, 5.0])

    def work() -> None:
        nonlocal now
        now += next(costs)

    def other() -> None:
        nonlocal now
        now += 0.5

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    assert seconds(work, other, rounds=4, repeat=2) == [1.5, 0.5]
    assert next(costs, None) is None


@pytest.mark.parametrize("repeat", [100, 1000])
def test_what_takes_no_time_is_repeated_until_a_clock_can_see_it(repeat):
    (least,) = seconds(lambda: None, rounds=2, repeat=repeat)
    assert least > 0
