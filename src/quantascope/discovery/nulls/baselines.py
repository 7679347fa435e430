"""Low-rank models of a field, fitted and tested like the factors.

A signed SVD and an NMF of equal rank show what the binary nonnegative restriction costs (paper, appendix G.1).
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
    """The same share for an NMF of the positive part; the negative part counts as unexplained."""
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
    """The layers of a field side by side, each scaled to the same sum of squares."""
    return np.concatenate([field / (np.sqrt(squared_sum(field)) or 1.0) for field in values.astype(np.float64)], 1)


@contextmanager
def _unconverged_is_fine() -> Iterator[None]:
    """An NMF that has not converged is still a valid baseline."""
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
