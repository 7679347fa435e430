"""Planted fields: priority made from known supports and curves, to measure what a method recovers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from quantascope.runs.config import Config, NonNegativeFloat, Positive, PositiveFloat, Seed


class PlantedConfig(Config):
    """Settings of a planted field: bell-shaped curves, evenly spaced in time, over one layer's events.

    Noise is the standard deviation per entry, relative to the root mean square of the noiseless field. With
    overlap, each support has its own probability between 0.1 and 0.5 of including an event; without, an event has
    one factor or none.
    """

    events: Positive = 1000
    intervals: Positive = 60
    factors: Positive = 6
    width: PositiveFloat = 2.0
    overlap: bool = True
    noise: NonNegativeFloat = 0.0
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Planted:
    """A field with its supports and curves."""

    values: Float[np.ndarray, "1 events intervals"]
    supports: Bool[np.ndarray, "factors events"]
    curves: Float[np.ndarray, "factors intervals"]


def plant(config: PlantedConfig) -> Planted:
    """Make the field of a config; equal configs give equal fields.

    >>> planted = plant(PlantedConfig(events=50, factors=3))
    >>> np.allclose(planted.values[0], planted.supports.T @ planted.curves)
    True
    """
    rng = np.random.default_rng(config.seed)
    apart = config.intervals / config.factors
    centre = (np.arange(config.factors) + 0.5) * apart + rng.uniform(-0.2, 0.2, config.factors) * apart
    distance = (np.arange(config.intervals) - centre[:, None]) / config.width
    curves = rng.uniform(0.5, 2, (config.factors, 1)) * np.where(
        np.abs(distance) < 3, np.exp(-(distance**2) / 2), 0
    )
    if config.overlap:
        probability = rng.uniform(0.1, 0.5, (config.factors, 1))
        supports = rng.random((config.factors, config.events)) < probability
    else:
        owner = rng.integers(0, config.factors + 1, config.events)
        supports = owner == np.arange(config.factors)[:, None]
    clean = supports.T.astype(np.float64) @ curves
    noise = config.noise * np.sqrt(np.mean(clean**2)) * rng.normal(size=clean.shape)
    return Planted((clean + noise)[None], supports, curves)
