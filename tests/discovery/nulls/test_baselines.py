"""Baselines: explained shares by hand and by another library, clusterings of separated groups."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

from quantascope.discovery.nulls.baselines import (
    cluster_gradients_by_means,
    cluster_gradients_spectrally,
    cluster_nmf,
    cluster_rows,
    cluster_svd,
    cosines,
    nmf_explained,
    side_by_side,
    svd_explained,
)
from quantascope.discovery.score import adjusted_mutual_information


def groups(seed=0, clusters=4, each=20, columns=12, noise=0.05):
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(clusters), each)
    centre = np.kron(np.eye(clusters), np.ones(columns // clusters))
    return label, centre[label] * rng.uniform(0.8, 1.2, (len(label), 1)) + noise * rng.normal(
        size=(len(label), columns)
    )


def test_the_svd_share_is_that_of_the_residual_and_of_scikit_learn():
    rng = np.random.default_rng(1)
    values, held_out = rng.normal(size=(2, 30, 8)), rng.normal(size=(2, 10, 8))
    shares = svd_explained(values, held_out, np.array([3, 0]))
    model = TruncatedSVD(3, algorithm="arpack").fit(values[0])
    left = held_out[0] - model.transform(held_out[0]) @ model.components_
    assert shares[0] == pytest.approx(1 - (left**2).sum() / (held_out[0] ** 2).sum())
    assert shares[1] == 0


def test_a_full_rank_nmf_of_a_nonnegative_field_explains_it_and_never_more_than_the_svd():
    _, rows = groups(noise=0.0)
    field = np.abs(rows)[None]
    assert nmf_explained(field, field, np.array([4]))[0] == pytest.approx(1, abs=1e-3)
    noisy = np.stack([groups(seed)[1] for seed in (1, 2)])
    rank = np.array([2, 3])
    assert (nmf_explained(noisy, noisy, rank) <= svd_explained(noisy, noisy, rank) + 1e-9).all()
    assert nmf_explained(noisy, noisy, np.array([0, 1]))[0] == 0


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


def test_layers_side_by_side_weigh_the_same_and_zero_gradients_are_at_right_angles():
    joined = side_by_side(np.stack([np.ones((2, 3)), 100 * np.ones((2, 3))]))
    np.testing.assert_allclose(joined, np.full((2, 6), 1 / np.sqrt(6)))
    np.testing.assert_allclose(cosines(np.diag([4.0, 0.0])), np.diag([1.0, 0.0]))
