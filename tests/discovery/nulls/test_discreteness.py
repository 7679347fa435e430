"""Fields whose supports are known to overlap and be binary, or known to be continuous."""

import numpy as np
import pytest

from quantascope.discovery import factorize_corrective
from quantascope.discovery.nulls.discreteness import CorrectiveFit, discreteness
from quantascope.discovery.planted import PlantedConfig, plant

SEEDS = range(3)
SMALL = PlantedConfig(events=200, intervals=30, factors=3)


def overlapping(seed, noise=0.3):
    return plant(SMALL.replace({"noise": noise, "seed": seed})).values


def continuous(seed, shape, noise=0.3):
    planted, rng = plant(SMALL.replace({"seed": seed})), np.random.default_rng(seed)
    clean = rng.gamma(shape, size=(200, 3)) @ planted.curves
    return (clean + noise * np.sqrt(np.mean(clean**2)) * rng.normal(size=clean.shape))[None]


def test_overlapping_binary_supports_are_explained_better_by_as_many_factors_than_their_surrogates():
    for found in (discreteness(overlapping(seed)) for seed in SEEDS):
        assert found.field.numbers == [3]
        for null in (found.loadings, found.gaussian):
            fewer, more, more_than_as_many = found.field.beyond(null)
            assert fewer < 0
            assert more > 0
            assert more_than_as_many > 0.1
        assert found.excess[2] > 0.1


@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_continuous_loadings_are_explained_like_their_surrogates(shape):
    excess = [discreteness(continuous(seed, shape)).excess for seed in SEEDS]
    assert abs(np.mean(excess, 0)[2]) < 0.05


def test_a_fit_is_that_of_the_corrective_factors_at_every_number():
    field = overlapping(3, noise=1.0)
    fit, factors = CorrectiveFit.of(field), factorize_corrective(field)
    assert fit.numbers == [len(factors)]
    assert fit.explained == pytest.approx(factors.explained.sum())
    fewer = factorize_corrective(field, most=2)
    assert fit.explained_by([2]) == pytest.approx(fewer.explained.sum())
