"""Clusterings find groups that are apart."""

import numpy as np
import pytest

from quantascope.discovery import Factors
from quantascope.discovery.nulls.clusterings import (
    cluster_gradients_by_means,
    cluster_gradients_spectrally,
    cluster_nmf,
    cluster_rows,
    cluster_svd,
    cosines,
    dominant_factor,
)
from quantascope.discovery.score import adjusted_mutual_information


def groups(seed=0, clusters=4, each=20, columns=12, noise=0.05):
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(clusters), each)
    centre = np.kron(np.eye(clusters), np.ones(columns // clusters))
    return label, centre[label] * rng.uniform(0.8, 1.2, (len(label), 1)) + noise * rng.normal(
        size=(len(label), columns)
    )


def test_separated_groups_are_found_by_every_clustering():
    label, rows = groups()
    gram = rows @ rows.T
    for found in (
        cluster_nmf(rows, 4),
        cluster_rows(rows, 4),
        cluster_gradients_spectrally(gram, 4),
        cluster_gradients_by_means(gram, 4),
    ):
        assert adjusted_mutual_information(found, label) == pytest.approx(1)


def test_an_nmf_may_have_more_components_than_columns():
    assert len(cluster_nmf(np.random.default_rng(0).random((30, 3)), 5)) == 30


def test_the_largest_signed_component_tells_groups_of_unequal_size_apart():
    rows = np.diag([4.0, 3.0, 2.0]).repeat(5, axis=0)
    assert adjusted_mutual_information(cluster_svd(rows, 3), np.repeat(np.arange(3), 5)) == pytest.approx(1)


def test_zero_gradients_are_at_right_angles():
    np.testing.assert_allclose(cosines(np.diag([4.0, 0.0])), np.diag([1.0, 0.0]))


def test_the_dominant_factor_has_the_largest_curve():
    factors = Factors(
        layer=np.array([0, 1]),
        supports=np.array([[True, True, False, False], [False, True, True, False]]),
        curves=np.array([[1.0, 0.0], [2.0, 2.0]]),
        explained=np.array([0.5, 0.5]),
    )
    np.testing.assert_array_equal(dominant_factor(factors), [0, 1, 1, -1])
    np.testing.assert_array_equal(dominant_factor(factors.chosen(np.zeros(2, bool))), [-1, -1, -1, -1])
