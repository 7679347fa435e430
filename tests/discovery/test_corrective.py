"""The corrective variant on planted fields: exact without noise, ahead of the greedy one with it."""

import numpy as np
import pytest
from scipy.optimize import nnls

from quantascope.discovery import explained_share, factorize, factorize_corrective
from quantascope.discovery.corrective import _fitted_curves, _revised
from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.discovery.score import best_match_f1


def in_planted_order(found):
    order = np.argsort(found.acquisition_interval)
    return found.supports[order], found.curves[order]


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_factors_are_recovered_exactly_without_noise(seed):
    planted = plant(PlantedConfig(seed=seed))
    supports, curves = in_planted_order(factorize_corrective(planted.values))
    np.testing.assert_array_equal(supports, planted.supports)
    np.testing.assert_allclose(curves, planted.curves, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_paper_s_procedure_recovers_disjoint_factors_exactly_without_noise(seed):
    planted = plant(PlantedConfig(overlap=False, width=1.0, seed=seed))
    supports, curves = in_planted_order(factorize(planted.values, threshold=0.01))
    np.testing.assert_array_equal(supports, planted.supports)
    np.testing.assert_allclose(curves, planted.curves, atol=1e-9)


def test_with_noise_it_finds_more_of_the_supports_than_the_greedy_one():
    for noise in (0.5, 1.0):
        planted = [plant(PlantedConfig(noise=noise, events=400, seed=seed)) for seed in range(3)]
        greedy = [best_match_f1(factorize(p.values).supports, p.supports) for p in planted]
        corrective = [best_match_f1(factorize_corrective(p.values).supports, p.supports) for p in planted]
        assert np.mean(corrective) > np.mean(greedy) + 0.1


def test_noise_alone_seldom_makes_a_factor():
    rng = np.random.default_rng(0)
    found = [len(factorize_corrective(rng.normal(size=(1, 100, 15)), seed=seed)) for seed in range(30)]
    assert sum(count > 0 for count in found) <= 6


def test_curves_at_fixed_supports_are_nonnegative_least_squares():
    rng = np.random.default_rng(1)
    supports, field = rng.random((4, 50)) < 0.4, rng.normal(size=(50, 7))
    expected = np.stack([nnls(supports.T.astype(float), column)[0] for column in field.T], axis=1)
    np.testing.assert_allclose(_fitted_curves(field, supports, np.ones((4, 7))), expected, atol=1e-8)


def test_shares_add_up_and_fitted_events_keep_their_supports():
    planted = plant(PlantedConfig(noise=0.5, seed=3))
    found = factorize_corrective(planted.values)
    np.testing.assert_allclose(found.explained.sum(), explained_share(found, planted.values)[0])
    again = _revised(planted.values[0].astype(float), found.supports, found.curves)
    assert (again == found.supports).mean() > 0.999


def test_a_field_without_priority_has_no_factors():
    assert len(factorize_corrective(np.zeros((2, 5, 4)))) == 0
