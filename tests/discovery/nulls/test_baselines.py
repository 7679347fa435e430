"""Baselines: explained shares by hand and by another library."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

from quantascope.discovery.nulls.baselines import nmf_explained, side_by_side, svd_explained


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


def test_layers_side_by_side_weigh_the_same():
    joined = side_by_side(np.stack([np.ones((2, 3)), 100 * np.ones((2, 3))]))
    np.testing.assert_allclose(joined, np.full((2, 6), 1 / np.sqrt(6)))
