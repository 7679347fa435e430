"""Matching across runs: what was planted to recur does, what was not does not."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from quantascope.discovery import Factors, chance_within, match, recurrence
from quantascope.discovery.recurrence import correlations
from quantascope.runs.errors import InvalidConfig


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


def test_supports_that_are_made_of_words_recur_beyond_chance_but_not_beyond_the_word():
    rng = np.random.default_rng(4)
    word = np.arange(600) % 12
    by_word = np.stack([np.isin(word, [0, 1, 2]), np.isin(word, [3, 4]), np.isin(word, [5, 6, 7, 8])])
    finer = rng.random((2, 600)) < 0.4
    runs = [with_supports(np.vstack([noisy(by_word, rng), noisy(finer, rng)])) for _ in range(4)]
    loose, strict = (recurrence(runs, within=within, permutations=200) for within in (None, word))
    assert all((one.share == 1).all() for one in loose)
    for one in strict:
        assert one.share[:3].mean() <= 0.34
        assert (one.share[3:] == 1).all()
        assert np.nanmin(one.chance[:3]) > 0.5
        assert np.nanmax(one.chance[3:]) < 0.3


def test_supports_of_whole_words_are_explained_by_them():
    word = np.arange(60) % 6
    same = with_supports(np.stack([word == 0, word < 3]))
    for one in recurrence([same, same], within=word, permutations=20):
        assert np.nanmin(one.mcc) == pytest.approx(1)
        assert (one.share == 0).all()


def test_one_group_of_all_events_gives_about_the_level_of_chance():
    rng = np.random.default_rng(5)
    runs = [with_supports(rng.random((6, 500)) < 0.3) for _ in range(2)]
    loose, strict = (
        recurrence(runs, within=within, permutations=300)[0].chance[:, 1] for within in (None, np.zeros(500, int))
    )
    np.testing.assert_allclose(strict, loose, rtol=0.25)


def test_shuffled_events_stay_within_their_group():
    rng = np.random.default_rng(6)
    word = rng.integers(0, 5, 200)
    some = with_supports(rng.random((3, 200)) < 0.4)
    words = with_supports(word == np.arange(5)[:, None])
    levels = chance_within(words, some, word, permutations=30, seed=0)
    np.testing.assert_allclose(levels, correlations(words.supports, some.supports), atol=1e-8)


def test_supports_on_other_events_or_without_factors_are_refused():
    some = with_supports(np.eye(3, dtype=bool))
    with pytest.raises(InvalidConfig, match="over 3 and 4 events cannot be compared"):
        match(some, with_supports(np.eye(4, dtype=bool)))
    with pytest.raises(InvalidConfig, match="at least two runs, got 1"):
        recurrence([some])
    with pytest.raises(InvalidConfig, match="run 1 has no factors"):
        recurrence([some, some.chosen(np.zeros(3, dtype=bool))])
    with pytest.raises(InvalidConfig, match="2 of 3 events have a group; give each one"):
        recurrence([some, some], within=np.zeros(2, dtype=int))
