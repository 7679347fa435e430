"""Scores against brute force and by hand."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import f1_score

from quantascope.discovery.score import best_match_f1, f1_scores, supports_of


def test_pairs_have_the_largest_sum_of_scikit_learn_s_f1():
    rng = np.random.default_rng(0)
    found, units = rng.random((4, 40)) < 0.5, rng.random((3, 40)) < 0.3
    scores = np.array([[f1_score(unit, support) for support in found] for unit in units])
    np.testing.assert_allclose(f1_scores(found, units), scores)
    best = max(scores[range(3), order].sum() for order in itertools.permutations(range(4), 3))
    assert best_match_f1(found, units) == pytest.approx(best / 3)


def test_nothing_found_scores_zero():
    assert best_match_f1(np.zeros((0, 5), dtype=bool), np.ones((2, 5), dtype=bool)) == 0


def test_labels_are_supports():
    np.testing.assert_array_equal(supports_of(np.array([1, 1, 4])), [[True, True, False], [False, False, True]])
