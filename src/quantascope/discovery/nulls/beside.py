"""Comparisons for a discovery: factorizations of equal rank, surrogate fields and random packets."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from quantascope.discovery.discover import Discovery, layer_sums
from quantascope.discovery.factors import Factors
from quantascope.discovery.nulls.baselines import nmf_explained, svd_explained
from quantascope.discovery.nulls.packets import Packet, random_packets
from quantascope.discovery.nulls.surrogate import Values, gaussian_surrogate, loading_surrogate

SurrogateKind = Literal["loadings", "gaussian"]


def explained_by_svd(found: Discovery) -> Float[np.ndarray, " layers"]:
    """Share of each layer's squared held-out priority that a signed SVD of the same rank explains."""
    return svd_explained(found.trained.values, found.held_out.values, found.per_layer)


def explained_by_nmf(found: Discovery) -> Float[np.ndarray, " layers"]:
    """The same share for a nonnegative factorization of the same rank."""
    return nmf_explained(found.trained.values, found.held_out.values, found.per_layer)


def explained_in_training(found: Discovery) -> Float[np.ndarray, " layers"]:
    """Share of each layer's squared training priority that the factors explain."""
    return layer_sums(found.factors, len(found.trained.layers))


def packets(found: Discovery, of: Packet, draws: int) -> list[Factors]:
    """Several draws of random packets in place of the factors, with a fixed seed."""
    return [
        random_packets(found.factors, found.trained.values, np.random.default_rng(draw), of=of)
        for draw in range(draws)
    ]


def surrogates(found: Discovery, kind: SurrogateKind, draws: int) -> list[Values]:
    """Surrogate fields with similar curves and continuous loadings, with a fixed seed."""
    values = found.trained.values
    draw = loading_surrogate(values, found.per_layer) if kind == "loadings" else gaussian_surrogate(values)
    return [draw(np.random.default_rng(number)) for number in range(draws)]
