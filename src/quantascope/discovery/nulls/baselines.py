"""What else one might do with the same measurements.

Two kinds of baselines. Low-rank models of the field, fitted and tested like the factors, show what the binary
nonnegative restriction costs: a signed SVD and an NMF of equal rank (paper, appendix G.1). Clusterings of events
show what else finds units: spectral clustering of per-event gradients, which is the Quantization Model's own
method, k-means of them, k-means of loss curves, and the largest component of a low-rank model. All clusterings
are told the number of clusters.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import linalg

from quantascope.discovery.factorize import squared_sum

Values = Float[np.ndarray, "layers events intervals"]
HeldOut = Float[np.ndarray, "layers others intervals"]


def svd_explained(
    values: Values, held_out: HeldOut, rank: Int[np.ndarray, " layers"]
) -> Float[np.ndarray, " layers"]:
    """Share of each layer's held-out squared priority within the leading right-singular vectors of `values`.

    >>> field = np.array([[[1.0, 0.0], [2.0, 0.0]]])
    >>> svd_explained(field, np.array([[[3.0, 4.0]]]), np.array([1]))
    array([0.36])
    """
    shares = []
    for field, other, count in zip(values.astype(np.float64), held_out.astype(np.float64), rank, strict=True):
        basis = linalg.svd(field, full_matrices=False)[2][:count]
        shares.append(_share(squared_sum(other @ basis.T), other))
    return np.array(shares)


def nmf_explained(
    values: Values, held_out: HeldOut, rank: Int[np.ndarray, " layers"], *, seed: int = 0
) -> Float[np.ndarray, " layers"]:
    """The same for an NMF of the positive part; what is negative counts as unexplained."""
    shares = []
    for field, other, count in zip(values.astype(np.float64), held_out.astype(np.float64), rank, strict=True):
        if not count:
            shares.append(0.0)
            continue
        scale = np.abs(field).max() or 1.0
        model = _nmf(int(count), field.shape, seed)
        with _unconverged_is_fine():
            model.fit(np.maximum(field / scale, 0))
            loading = model.transform(np.maximum(other / scale, 0))
        left = other - scale * (loading @ model.components_)
        shares.append(_share(squared_sum(other) - squared_sum(left), other))
    return np.array(shares)


def nonnegative_model(
    field: Float[np.ndarray, "events intervals"], rank: int, *, seed: int = 0
) -> tuple[Float[np.ndarray, "events rank"], Float[np.ndarray, "rank intervals"]]:
    """Loadings and curves of an NMF of the positive part of a layer."""
    positive = np.maximum(field.astype(np.float64), 0)
    scale = positive.max() or 1.0
    model = _nmf(rank, field.shape, seed)
    with _unconverged_is_fine():
        loadings = model.fit_transform(positive / scale)
    return loadings, scale * model.components_


def side_by_side(values: Values) -> Float[np.ndarray, "events columns"]:
    """The layers of a field next to each other, each with the same sum of squares."""
    return np.concatenate([field / (np.sqrt(squared_sum(field)) or 1.0) for field in values.astype(np.float64)], 1)


def cluster_svd(rows: Float[np.ndarray, "events columns"], clusters: int) -> Int[np.ndarray, " events"]:
    """The leading signed component with the largest loading on each event."""
    left, spread, _ = linalg.svd(rows, full_matrices=False)
    return np.abs(left * spread)[:, :clusters].argmax(1)


def cluster_nmf(
    rows: Float[np.ndarray, "events columns"], clusters: int, *, seed: int = 0
) -> Int[np.ndarray, " events"]:
    """The component of an NMF of the positive part with the largest loading on each event."""
    positive = np.maximum(rows, 0)
    with _unconverged_is_fine():
        return _nmf(clusters, rows.shape, seed).fit_transform(positive / (positive.max() or 1.0)).argmax(1)


def cluster_rows(
    rows: Float[np.ndarray, "events columns"], clusters: int, *, seed: int = 0
) -> Int[np.ndarray, " events"]:
    """k-means of rows, for loss curves as they are."""
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
    """k-means of gradients of unit length, from their Gram matrix, which fixes them up to rotation."""
    spread, vectors = linalg.eigh(cosines(gram))
    return cluster_rows(vectors * np.sqrt(np.maximum(spread, 0)), clusters, seed=seed)


def cosines(gram: Float[np.ndarray, "events events"]) -> Float[np.ndarray, "events events"]:
    """Cosines of the angles between gradients; a zero gradient is at right angles to all."""
    length = np.sqrt(np.diag(gram).astype(np.float64))
    safe = np.where(length > 0, length, 1.0)
    return gram / safe / safe[:, None]


@contextmanager
def _unconverged_is_fine() -> Iterator[None]:
    """An NMF that stops at its last iteration is still a baseline."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _nmf(components: int, shape: tuple[int, ...], seed: int) -> Any:
    from sklearn.decomposition import NMF

    start = "nndsvda" if components <= min(shape) else "random"
    return NMF(components, init=start, max_iter=500, random_state=seed)  # pyright: ignore[reportArgumentType]


def _share(explained: float, field: Float[np.ndarray, "events intervals"]) -> float:
    total = squared_sum(field)
    return explained / total if total else 0.0
