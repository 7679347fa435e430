"""Where intervals of priority end."""

import itertools

import pytest

from quantascope.training.spacing import interval_ends


@pytest.mark.parametrize("spacing", ["equal", "logarithmic"])
@pytest.mark.parametrize("steps", [1, 3, 200, 10_000])
@pytest.mark.parametrize("intervals", [1, 2, 7, 40])
def test_intervals_begin_at_the_start_and_end_with_training(steps, intervals, spacing):
    ends = interval_ends(steps, intervals, spacing)
    assert (ends[0], ends[-1]) == (0, steps)
    assert ends == sorted(set(ends))
    assert len(ends) - 1 == min(intervals, steps)


def test_logarithmic_intervals_grow_by_one_factor():
    ends = interval_ends(100_000, 5, "logarithmic")[1:]
    ratios = [late / early for early, late in itertools.pairwise(ends)]
    assert ratios == pytest.approx([1000**0.25] * 4, rel=0.01)
