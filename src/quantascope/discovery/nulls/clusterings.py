"""Clusterings of events, as alternatives to factors for finding a network's units.

Spectral clustering of per-event gradients is the Quantization Model's own method; the others are k-means of
gradients, k-means of loss curves, and the largest component of a low-rank model. The number of clusters is given
to all of them.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy import linalg

from quantascope.discovery import Factors
from quantascope.discovery.nulls.baselines import nonnegative_model


def dominant_factor(factors: Factors) -> Int[np.ndarray, " events"]:
    """For each event, the factor with the largest curve among those that contain it; −1 for none."""
    if not len(factors):
        return np.full(factors.supports.shape[1], -1)
    size = factors.supports * np.linalg.norm(factors.curves, axis=1)[:, None]
    return np.where(factors.supports.any(0), size.argmax(0), -1)


def cluster_svd(rows: Float[np.ndarray, "events columns"], clusters: int) -> Int[np.ndarray, " events"]:
    """The leading signed component with the largest loading on each event."""
    left, spread, _ = linalg.svd(rows, full_matrices=False)
    return np.abs(left * spread)[:, :clusters].argmax(1)


def cluster_nmf(
    rows: Float[np.ndarray, "events columns"], clusters: int, *, seed: int = 0
) -> Int[np.ndarray, " events"]:
    """The component of an NMF of the positive part with the largest loading on each event."""
    return nonnegative_model(rows, clusters, seed=seed)[0].argmax(1)


def cluster_rows(
    rows: Float[np.ndarray, "events columns"], clusters: int, *, seed: int = 0
) -> Int[np.ndarray, " events"]:
    """k-means of rows, such as loss curves."""
    from sklearn.cluster import KMeans

    model = KMeans(clusters, n_init=10, random_state=seed)  # pyright: ignore[reportArgumentType]
    return model.fit_predict(rows).astype(np.int64)


def cluster_gradients_spectrally(
    gram: Float[np.ndarray, "events events"], clusters: int, *, seed: int = 0
) -> Int[np.ndarray, " events"]:
    """Spectral clustering by the angle between gradients, 1 − arccos(cosine)/π, from their Gram matrix."""
    from sklearn.cluster import SpectralClustering

    similarity = 1 - np.arccos(np.clip(cosines(gram), -1, 1)) / np.pi
    model = SpectralClustering(clusters, affinity="precomputed", random_state=seed)
    return model.fit_predict(similarity).astype(np.int64)


def cluster_gradients_by_means(
    gram: Float[np.ndarray, "events events"], clusters: int, *, seed: int = 0
) -> Int[np.ndarray, " events"]:
    """k-means of normalized gradients, from their Gram matrix, which determines them up to rotation."""
    spread, vectors = linalg.eigh(cosines(gram))
    return cluster_rows(vectors * np.sqrt(np.maximum(spread, 0)), clusters, seed=seed)


def cosines(gram: Float[np.ndarray, "events events"]) -> Float[np.ndarray, "events events"]:
    """Cosines of the angles between gradients; a zero gradient is orthogonal to all."""
    length = np.sqrt(np.diag(gram).astype(np.float64))
    safe = np.where(length > 0, length, 1.0)
    return gram / safe / safe[:, None]
