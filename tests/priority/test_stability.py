"""Matching across runs: what was planted to recur does, what was not does not."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from quantascope.errors import InvalidConfig
from quantascope.priority import Factors, match, recurrence
from quantascope.priority.stability import correlations


def with_supports(supports):
    count = len(supports)
    return Factors(
        layer=np.zeros(count, dtype=np.int64),
        supports=supports,
        curves=np.ones((count, 2)),
        explained=np.ones(count),
    )


def noisy(supports, rng, share=0.05):
    return supports ^ (rng.random(supports.shape) < share)


def test_correlations_are_scikit_learn_s():
    rng = np.random.default_rng(0)
    first, second = rng.random((3, 50)) < 0.3, rng.random((4, 50)) < 0.6
    expected = [[matthews_corrcoef(a, b) for b in second] for a in first]
    np.testing.assert_allclose(correlations(first, second), expected, atol=1e-12)


def test_the_matching_has_the_largest_sum_of_all():
    rng = np.random.default_rng(1)
    first, second = rng.random((4, 30)) < 0.5, rng.random((4, 30)) < 0.5
    mcc = correlations(first, second)
    best = max(sum(mcc[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(4)))
    assert match(with_supports(first), with_supports(second)).mcc.sum() == pytest.approx(best)


def test_planted_quanta_recur_and_private_ones_do_not():
    rng = np.random.default_rng(2)
    common = rng.random((4, 400)) < 0.3
    runs = [
        with_supports(np.vstack([noisy(common, rng), rng.random((2, 400)) < 0.3])[order])
        for order in (rng.permutation(6) for _ in range(4))
    ]
    for found, run in zip(recurrence(runs, permutations=100), runs, strict=True):
        planted = correlations(run.supports, common).max(1) > 0.7
        assert planted.sum() == 4
        np.testing.assert_array_equal(found.share[planted], 1)
        assert (found.share[~planted] <= 1 / 3).all()
        assert (found.partner[:, found.run] == -1).all()


def test_runs_that_share_nothing_seldom_recur():
    rng = np.random.default_rng(3)
    runs = [with_supports(rng.random((10, 300)) < 0.3) for _ in range(8)]
    shares = np.concatenate([one.share for one in recurrence(runs, permutations=100)])
    assert shares.mean() < 0.05


def test_supports_on_other_events_or_without_factors_are_refused():
    some = with_supports(np.eye(3, dtype=bool))
    with pytest.raises(InvalidConfig, match="over 3 and 4 events cannot be compared"):
        match(some, with_supports(np.eye(4, dtype=bool)))
    with pytest.raises(InvalidConfig, match="at least two runs, got 1"):
        recurrence([some])
    with pytest.raises(InvalidConfig, match="run 1 has no factors"):
        recurrence([some, some.chosen(np.zeros(3, dtype=bool))])
