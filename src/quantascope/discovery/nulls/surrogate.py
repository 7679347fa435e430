"""Surrogate fields: similar in time, but with continuous loadings instead of binary supports.

Any field can be decomposed into binary-temporal factors. Their number and explained share are evidence for
discrete units only as far as they exceed those of a field without discrete units. There are two such fields, made
layer by layer.

    loadings   An NMF of equal rank gives curves and their loadings on events. The loadings are drawn anew from
               gamma distributions with the same means and variances, and a Gaussian copula with the same rank
               correlations; what the NMF leaves is dealt to the events at random.
    gaussian   Every event is drawn from the normal distribution with the events' mean and covariance in time.

If binary supports overlap strongly, the greedy factorization explains them no better than continuous loadings, so
an equal score is not evidence against discrete units either.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from quantascope.discovery.nulls.baselines import nonnegative_model

Values = Float[np.ndarray, "layers events intervals"]
Layer = Float[np.ndarray, "events intervals"]
Draw = Callable[[np.random.Generator], Layer]
Surrogate = Callable[[np.random.Generator], Values]
"""A field of the same shape, drawn at random."""


def loading_surrogate(values: Values, rank: np.ndarray) -> Surrogate:
    """A sampler of fields whose layers have continuous, unimodal loadings on `rank` nonnegative curves.

    >>> loading = np.array([0.0, 0.0, 2.0, 2.0])
    >>> field = np.outer(loading, [1.0, 3.0])[None]
    >>> drawn = loading_surrogate(field, np.array([1]))(np.random.default_rng(0))
    >>> len(np.unique(drawn[0, :, 0].round(6))), np.allclose(drawn[0, :, 1], 3 * drawn[0, :, 0])
    (4, True)
    """
    return _together([_loading_layer(layer, int(count)) for layer, count in zip(values, rank, strict=True)])


def gaussian_surrogate(values: Values) -> Surrogate:
    """A sampler of fields whose events share mean and covariance over intervals, and no other structure."""
    return _together([_gaussian_layer(layer) for layer in values])


def _loading_layer(layer: Layer, rank: int) -> Draw:
    from scipy import stats  # imported here because it is slow to import

    loadings, curves = nonnegative_model(layer, max(rank, 1))
    left = layer - loadings @ curves
    mean, variance = loadings.mean(0), loadings.var(0)
    # NMF may leave a component empty or constant over events; then there is nothing to draw.
    varies = (mean > 0) & (variance > 1e-12 * mean**2)
    shape, scale = mean[varies] ** 2 / variance[varies], variance[varies] / mean[varies]
    scores = stats.norm.ppf((stats.rankdata(loadings[:, varies], axis=0) - 0.5) / len(layer))
    mixing = np.linalg.svd(scores / (np.linalg.norm(scores, axis=0) + 1e-300), full_matrices=False)

    def draw(rng: np.random.Generator) -> Layer:
        drawn = np.tile(mean, (len(layer), 1))
        normal = rng.normal(size=(len(layer), len(shape))) * mixing.S @ mixing.Vh
        drawn[:, varies] = stats.gamma.ppf(stats.norm.cdf(normal), shape, scale=scale)
        return drawn @ curves + rng.permutation(left)

    return draw


def _gaussian_layer(layer: Layer) -> Draw:
    mean = layer.mean(0, dtype=np.float64)
    _, spread, axes = np.linalg.svd(layer - mean, full_matrices=False)
    scaled = axes * (spread / np.sqrt(len(layer)))[:, None]
    return lambda rng: mean + rng.normal(size=(len(layer), len(scaled))) @ scaled


def _together(layers: list[Draw]) -> Surrogate:
    return lambda rng: np.stack([draw(rng) for draw in layers])
