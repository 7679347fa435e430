"""Surrogate fields against fields whose loadings are known to be binary, or known not to be."""

import numpy as np
import pytest

from quantascope.discovery import explained_share, factorize
from quantascope.discovery.corrective import factorize_corrective
from quantascope.discovery.nulls.surrogate import gaussian_surrogate, loading_surrogate
from quantascope.discovery.planted import PlantedConfig, plant

RANK = np.array([6])


def explained(values, threshold=0.03):
    return float(factorize(values, threshold=threshold).explained.sum())


def of_surrogates(surrogate, draws=4):
    return float(np.mean([explained(surrogate(np.random.default_rng(draw))) for draw in range(draws)]))


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_a_binary_field_is_explained_clearly_better_than_its_surrogates(noise):
    field = plant(PlantedConfig(overlap=False, noise=noise)).values
    real = explained(field)
    assert real > of_surrogates(loading_surrogate(field, RANK)) + 0.1
    assert real > of_surrogates(gaussian_surrogate(field)) + 0.1


def test_overlapping_supports_are_told_from_continuous_loadings_by_corrective_factors_alone():
    field = plant(PlantedConfig(events=400, overlap=True, noise=0.3)).values
    surrogate = loading_surrogate(field, RANK)
    assert explained(field) < of_surrogates(surrogate) + 0.1
    drawn = surrogate(np.random.default_rng(0))
    real, null = (factorize_corrective(values) for values in (field, drawn))
    assert len(real) == 6 < len(null)
    assert explained_share(real, field)[0] > explained_share(null, drawn)[0]


@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
def test_fields_with_continuous_loadings_are_explained_like_their_surrogates(shape):
    planted, rng = plant(PlantedConfig(events=2000)), np.random.default_rng(1)
    clean = rng.gamma(shape, size=(2000, 6)) @ planted.curves
    field = (clean + 0.3 * clean.std() * rng.normal(size=clean.shape))[None]
    assert explained(field) == pytest.approx(of_surrogates(loading_surrogate(field, RANK)), abs=0.05)


def test_a_gaussian_field_is_explained_like_its_gaussian_surrogate():
    rng = np.random.default_rng(2)
    field = (rng.normal(1, 1, (2000, 6)) @ plant(PlantedConfig()).curves)[None]
    assert explained(field) == pytest.approx(of_surrogates(gaussian_surrogate(field)), abs=0.03)


def test_surrogates_have_the_moments_of_the_field():
    planted, rng = plant(PlantedConfig(events=5000, intervals=12, factors=3, width=1.0)), np.random.default_rng(3)
    field = (rng.gamma(2.0, size=(5000, 3)) @ planted.curves)[None]
    for surrogate in (gaussian_surrogate(field), loading_surrogate(field, np.array([3]))):
        drawn = surrogate(np.random.default_rng(4))
        assert drawn.shape == field.shape
        scale = np.cov(field[0].T).max()
        np.testing.assert_allclose(drawn[0].mean(0), field[0].mean(0), atol=0.05 * np.sqrt(scale))
        np.testing.assert_allclose(np.cov(drawn[0].T), np.cov(field[0].T), atol=0.1 * scale)


def test_loadings_keep_their_rank_correlations():
    rng = np.random.default_rng(5)
    common = rng.gamma(2.0, size=(4000, 1))
    field = ((common * rng.uniform(0.7, 1.3, (4000, 2))) @ np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]))[None]
    drawn = loading_surrogate(field, np.array([2]))(np.random.default_rng(6))[0]
    expected = np.corrcoef(field[0, :, 0], field[0, :, 3])[0, 1]
    assert np.corrcoef(drawn[:, 0], drawn[:, 3])[0, 1] == pytest.approx(expected, abs=0.05)


def test_a_layer_without_credit_or_variation_stays_as_it_is():
    flat = np.stack([np.zeros((5, 3)), np.ones((5, 3))])
    drawn = loading_surrogate(flat, np.array([0, 1]))(np.random.default_rng(0))
    np.testing.assert_allclose(drawn, flat, atol=1e-6)
    np.testing.assert_allclose(gaussian_surrogate(flat)(np.random.default_rng(0)), flat, atol=1e-12)
