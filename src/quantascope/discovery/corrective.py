"""The corrective factorization: a variant of the paper's greedy method that refits earlier factors.

It differs from `factorize` in two ways, and it has no threshold.

    refit     after each new factor all are fitted again together, curves by nonnegative least squares at fixed
              supports, supports event by event at fixed curves, until no support changes. The greedy curve of a
              factor absorbs part of every factor that shares its events; this takes it out again.
    stop      a candidate must remove more squared error than the best candidate of each of nine copies of the
              residual with a random sign at every entry, which have its size everywhere and no structure. Of
              pure noise, a tenth of the fields then still show a factor.

On planted fields it finds overlapping factors exactly where the greedy one does not
(docs/findings/planted-fields.md).
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from quantascope.discovery.factorize import (
    MOST_FACTORS,
    Component,
    best_component,
    check_field,
    gather,
    squared_sum,
)
from quantascope.discovery.factors import Factors

_ROUNDS = 50
_NOISE_COPIES = 9
_NEGLIGIBLE = 1e-9  # share of the squared priority: the residual of a field without noise is rounding error

Field = Float[np.ndarray, "events intervals"]
Supports = Bool[np.ndarray, "factors events"]
Curves = Float[np.ndarray, "factors intervals"]


def factorize_corrective(
    values: Float[np.ndarray, "layers events intervals"], *, most: int = MOST_FACTORS, seed: int = 0
) -> Factors:
    """The factors of every layer that exceed noise, fitted jointly.

    >>> learned_first, learned_later = np.array([3.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0])
    >>> layer = np.stack([learned_first, learned_first + learned_later, learned_later, np.zeros(3)])
    >>> found = factorize_corrective(np.tile(layer, (10, 1))[None])
    >>> found.supports[:, :4].astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0]])
    >>> found.curves.round(9)
    array([[3., 0., 0.],
           [0., 1., 1.]])
    """
    check_field(values)
    found: list[tuple[int, Component, float]] = []
    for layer, field in enumerate(values.astype(np.float64)):
        for last in deque(stages(field, [seed, layer], most), maxlen=1):
            found += [(layer, *one) for one in _removed_in_order(field, *last)]
    return gather(found, values.shape[1], values.shape[2])


def stages(field: Field, seed: list[int], most: int = MOST_FACTORS) -> Iterator[tuple[Supports, Curves]]:
    """Yield the jointly fitted factors of one layer after each added factor."""
    supports = np.zeros((0, field.shape[0]), dtype=bool)
    curves = np.zeros((0, field.shape[1]))
    least, residual = _NEGLIGIBLE * squared_sum(field), field.copy()
    for number in range(most):
        rng = np.random.default_rng([*seed, number])
        component = best_component(residual, rng)
        if component is None or component.removed <= max(least, _removed_from_noise(residual, rng)):
            break
        supports, curves = np.vstack([supports, component.support]), np.vstack([curves, component.curve])
        supports, curves = _refit(field, supports, curves)
        yield supports, curves
        residual = field - supports.T.astype(np.float64) @ curves


def _removed_from_noise(residual: Field, rng: np.random.Generator) -> float:
    """The largest squared error that a component removes from sign-randomized copies of the residual."""
    most = 0.0
    for _ in range(_NOISE_COPIES):
        noise = np.where(rng.random(residual.shape, dtype=np.float32) < 0.5, -residual, residual)
        component = best_component(noise, rng)
        most = max(most, component.removed if component else 0.0)
    return most


def _refit(field: Field, supports: Supports, curves: Curves) -> tuple[Supports, Curves]:
    """Alternate curves and supports until no support changes; factors without events or mass are dropped."""
    for _ in range(_ROUNDS):
        curves = _fitted_curves(field, supports, curves)
        revised = _revised(field, supports, curves)
        settled = (revised == supports).all()
        alive = revised.any(1) & curves.any(1)
        supports, curves = revised[alive], curves[alive]
        if settled:
            break
    return supports, curves


def _fitted_curves(field: Field, supports: Supports, curves: Curves) -> Curves:
    """Fit all curves at fixed supports by nonnegative least squares, with coordinate descent over factors."""
    member = supports.astype(np.float64)
    overlap, target = member @ member.T, member @ field
    curves = curves.copy()
    for _ in range(10 * _ROUNDS):
        before = curves.copy()
        for q in range(len(curves)):
            curves[q] = np.maximum(0, curves[q] + (target[q] - overlap[q] @ curves) / overlap[q, q])
        if np.abs(curves - before).max() <= 1e-12 * curves.max():
            break
    return curves


def _revised(field: Field, supports: Supports, curves: Curves) -> Supports:
    """Update each factor's support given the others until none changes."""
    projection, product = curves @ field.T, curves @ curves.T
    member = supports.astype(np.float64)
    for _ in range(_ROUNDS):
        before = member.copy()
        for q in range(len(member)):
            without = projection[q] - product[q] @ member + product[q, q] * member[q]
            member[q] = 2 * without > product[q, q]
        if (member == before).all():
            break
    return member.astype(bool)


def _removed_in_order(field: Field, supports: Supports, curves: Curves) -> list[tuple[Component, float]]:
    """The components, each with the share of squared priority that it removes after the earlier ones."""
    residual, left = field.copy(), squared_sum(field)
    total, found = left or 1.0, []
    for support, curve in zip(supports, curves, strict=True):
        component = Component(support, curve, 0.0)
        component.take_from(residual)
        now = squared_sum(residual)
        found.append((component, (left - now) / total))
        left = now
    return found
