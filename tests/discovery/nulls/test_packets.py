"""Random packets: sizes, layers and curves of their own, and nothing of the factors'."""

import numpy as np
import pytest

from quantascope.discovery import Factors, factorize
from quantascope.discovery.nulls.packets import random_packets
from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.runs.errors import InvalidConfig


def test_random_sets_are_as_large_as_the_factors_and_have_the_mean_curve_of_their_events():
    values = np.concatenate([plant(PlantedConfig(events=200, seed=seed)).values for seed in (0, 1)])
    factors = factorize(values)
    drawn = random_packets(factors, values, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.layer, factors.layer)
    np.testing.assert_array_equal(drawn.demand, factors.demand)
    for layer, support, curve in zip(drawn.layer, drawn.supports, drawn.curves, strict=True):
        np.testing.assert_allclose(curve, np.maximum(values[layer, support].mean(0), 0))
    assert (drawn.supports != factors.supports).any()


def test_what_is_planted_in_time_is_lost_in_random_sets():
    planted = plant(PlantedConfig(events=3000))
    factors = factorize(planted.values)
    drawn = random_packets(factors, planted.values, np.random.default_rng(0))
    assert np.ptp(factors.acquisition_interval) > 20
    assert np.ptp(drawn.acquisition_interval) <= 6


def test_single_events_are_of_those_that_were_helped():
    values = -np.ones((1, 50, 3))
    values[0, 7] = [0, 0, 1]
    one = Factors(
        layer=np.array([0]), supports=np.ones((1, 50), bool), curves=np.ones((1, 3)), explained=np.ones(1)
    )
    drawn = random_packets(one, values, np.random.default_rng(0), of="events")
    np.testing.assert_array_equal(np.flatnonzero(drawn.supports[0]), [7])
    np.testing.assert_array_equal(drawn.curves, [[0, 0, 1]])
    with pytest.raises(InvalidConfig, match="no 50 events of layer 0 have credit"):
        random_packets(one, values, np.random.default_rng(0))
