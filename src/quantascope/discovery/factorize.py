"""Priority field -> factors: the greedy binary-temporal factorization (paper, section 5.1 and appendix G.1).

Within each layer, with residual R = P at first:

    propose   from four starting curves alternate
                  a_e = 1 exactly where 2 Σ_t R_et ρ_t > Σ_t ρ_t²      (entering lowers the event's error)
                  ρ_t = max(0, mean of R_et over the support)
              until the support stays the same, at most 40 times; the candidate of lowest error counts
    accept    if it removes at least the threshold's share of the layer's *original* squared error:
              R <- R − a ρ, and propose again; otherwise stop

Nothing is refitted afterwards. Events that were not fitted get their supports from the frozen curves, greedily in
the same order. All four starts advance together, so that an alternation is two thin matrix products over the
residual, and the residual is only ever changed in place.

The paper gives the starts (positive mean of the residual, its leading right-singular vector with both signs, a
random curve, each clipped at zero) but not the scale of the last three. Here each of these has the scale that
lowers the error most, found exactly by sorting; a field in other units then has the same factors. The paper's
authors leave them as they come (`starts="paper"`): a vector of length one, and uniform numbers of their seeds.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy import linalg
from threadpoolctl import ThreadpoolController

from quantascope.discovery.factors import Factors
from quantascope.discovery.field import PriorityField
from quantascope.runs.errors import InvalidConfig

ALTERNATIONS = 40
MOST_FACTORS = 16
"""Limit of factors per layer; a layer that reaches it may have more."""

_in_one_thread = ThreadpoolController().wrap(limits=1, user_api="blas")
"""Threads do not speed up such thin products, and the order of summation would depend on the number of cores."""

Starts = Literal["scaled", "paper"]
"""Scale at which the leading vector and the random curve start: of lowest error, or as in the authors' code."""


def _seed_of_authors(number: int) -> int:
    """The seed that the paper's authors use for the random start of a layer's component."""
    return 104_729 + 1_009 * number


Residual = Float[np.ndarray, "events intervals"]
Curves = Float[np.ndarray, "starts intervals"]


@dataclass(frozen=True, eq=False)
class Component:
    """A support, a curve, and the squared error that they remove from a residual."""

    support: Bool[np.ndarray, " events"]
    curve: Float[np.ndarray, " intervals"]
    removed: float

    def take_from(self, residual: Float[np.ndarray, "events intervals"]) -> None:
        """R <- R − a ρ, in place."""
        np.subtract(residual, self.curve, out=residual, where=self.support[:, None])


@_in_one_thread
def factorize(
    field: PriorityField | Float[np.ndarray, "layers events intervals"],
    *,
    threshold: float = 0.03,
    most: int = MOST_FACTORS,
    seed: int = 0,
    starts: Starts = "scaled",
) -> Factors:
    """The factors of every layer; each removes at least `threshold` of the layer's squared priority.

    A `PriorityField` that is not reliable raises a warning; a plain array is factored without this check.

    >>> learned_first, learned_later = np.array([3.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0])
    >>> layer = np.stack([learned_first, learned_first, learned_later, np.zeros(3)])
    >>> found = factorize(layer[None])
    >>> found.supports.astype(int)
    array([[1, 1, 0, 0],
           [0, 0, 1, 0]])
    >>> found.curves
    array([[3., 0., 0.],
           [0., 1., 1.]])
    """
    values = _values_of(field)
    check_field(values)
    check_threshold(threshold)
    found: list[tuple[int, Component, float]] = []
    for layer, of_layer in enumerate(values):
        residual = of_layer.astype(np.float64)
        total = squared_sum(residual)
        for number in range(most if total else 0):
            drawn = _seed_of_authors(number) if starts == "paper" else [seed, layer, number]
            component = best_component(residual, np.random.default_rng(drawn), starts)
            if component is None or component.removed < threshold * total:
                break
            component.take_from(residual)
            found.append((layer, component, component.removed / total))
    return gather(found, values.shape[1], values.shape[2])


def _values_of(
    field: PriorityField | Float[np.ndarray, "layers events intervals"],
) -> Float[np.ndarray, "layers events intervals"]:
    """The values of a field; warns if the field is not reliable."""
    if not isinstance(field, PriorityField):
        return field
    if not field.reliable:
        warnings.warn(field.warning, stacklevel=4)  # of who called `factorize`, which is wrapped
    return field.values


def check_threshold(threshold: float) -> None:
    """Raise if the threshold is not a share of the squared priority."""
    if not 0 < threshold < 1:
        raise InvalidConfig(f"threshold {threshold:g} is not a share of the squared priority; give one in (0, 1)")


@_in_one_thread
def best_component(residual: Residual, rng: np.random.Generator, starts: Starts = "scaled") -> Component | None:
    """The candidate of lowest error over the four starts, the first of equal ones; None if all are empty."""
    curves = starting_curves(residual, rng, starts)
    curves = curves[curves.any(1)]
    curves = _alternate(residual, curves)
    if not len(curves):
        return None
    gain = gains(residual, curves)
    support = gain > 0
    removed = np.einsum("es,es->s", gain, support)
    best = int(removed.argmax())
    if not removed[best] > 0:
        return None
    return Component(support[:, best], curves[best], float(removed[best]))


def starting_curves(residual: Residual, rng: np.random.Generator, starts: Starts = "scaled") -> Curves:
    """The paper's four starts, without those that are zero after clipping, since no event would enter them."""
    leading = leading_curve(residual)
    unscaled = np.maximum(np.stack([leading, -leading, rng.random(residual.shape[1])]), 0)
    others = unscaled if starts == "paper" else best_scale(residual, unscaled)
    return np.vstack([np.maximum(residual.mean(0), 0), others])


def leading_curve(residual: Residual) -> Float[np.ndarray, " intervals"]:
    """The leading right-singular vector, with the sign that makes its largest entry positive."""
    events, intervals = residual.shape
    gram = residual.T @ residual if intervals <= events else residual @ residual.T
    last = len(gram) - 1
    vector = linalg.eigh(gram, subset_by_index=(last, last), check_finite=False)[1][:, 0]
    if intervals > events:
        vector = residual.T @ vector
        vector /= np.linalg.norm(vector) or 1.0
    return vector * np.sign(vector[np.abs(vector).argmax()])


def best_scale(residual: Residual, curves: Curves) -> Curves:
    """Each curve, scaled to remove the most squared error with its best support.

    For a unit curve v and projections p = R v, a support of the k largest is best at scale mean(p) and removes
    (Σ p)² / k; the best k is found among the sorted projections.
    """
    norm = np.linalg.norm(curves, axis=1, keepdims=True)
    unit = np.divide(curves, norm, out=np.zeros_like(curves), where=norm > 0)
    falling = -np.sort(-(residual @ unit.T), axis=0)
    sums = np.maximum(np.cumsum(falling, axis=0), 0)
    size = np.arange(1, len(residual) + 1)[:, None]
    best = (sums**2 / size).argmax(0)
    return unit * (sums[best, range(len(unit))] / (best + 1))[:, None]


def gains(residual: Residual, curves: Curves) -> Float[np.ndarray, "events starts"]:
    """The squared error that each event loses when it enters the support of each curve."""
    gain = residual @ curves.T
    gain *= 2
    gain -= np.einsum("st,st->s", curves, curves)
    return gain


def _alternate(residual: Residual, curves: Curves) -> Float[np.ndarray, "left intervals"]:
    """Alternate supports and curves from all starts at once; starts with an empty support are dropped."""
    curves = curves.copy()
    support = np.zeros((len(residual), len(curves)), dtype=bool)
    empty = np.zeros(len(curves), dtype=bool)
    moving = np.arange(len(curves))
    for _ in range(ALTERNATIONS):
        entered = gains(residual, curves[moving]) > 0
        # An unchanged support would give the same curve again.
        changed = (entered != support[:, moving]).any(0)
        support[:, moving] = entered
        size = entered.sum(0)
        empty[moving] = size == 0
        going = changed & (size > 0)
        moving = moving[going]
        if not len(moving):
            break
        sums = entered[:, going].T.astype(np.float64) @ residual
        curves[moving] = np.maximum(sums / size[going, None], 0)
    return curves[~empty]


def assign(factors: Factors, values: Float[np.ndarray, "layers events intervals"]) -> Factors:
    """The factors with supports on other events, assigned greedily in the order in which they were found.

    >>> values = np.array([[[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    >>> assign(factorize(values), np.array([[[0.0, 0.9], [1.8, 1.1]]])).supports.astype(int)
    array([[0, 1],
           [1, 1]])
    """
    check_field(values)
    _check_match(factors, values)
    supports = np.zeros((len(factors), values.shape[1]), dtype=bool)
    explained = np.zeros(len(factors))
    for layer in np.unique(factors.layer):
        residual = values[layer].astype(np.float64)
        total = squared_sum(residual) or 1.0
        for factor in np.flatnonzero(factors.layer == layer):
            gain = gains(residual, factors.curves[factor : factor + 1])[:, 0]
            component = Component(gain > 0, factors.curves[factor], float(gain[gain > 0].sum()))
            component.take_from(residual)
            supports[factor], explained[factor] = component.support, component.removed / total
    return Factors(layer=factors.layer, supports=supports, curves=factors.curves, explained=explained)


def explained_share(
    factors: Factors, values: Float[np.ndarray, "layers events intervals"]
) -> Float[np.ndarray, " layers"]:
    """1 − residual / uncentred squared error of each layer, for supports on the events of `values`."""
    _check_match(factors, values)
    shares = []
    for layer, field in enumerate(values):
        total = squared_sum(field.astype(np.float64))
        shares.append(1 - squared_sum(field - factors.reconstruction(layer)) / total if total else 0.0)
    return np.array(shares)


def negative_mass(values: Float[np.ndarray, "layers events intervals"]) -> Float[np.ndarray, " layers"]:
    """Share of each layer's absolute priority that is negative.

    >>> negative_mass(np.array([[[3.0, -1.0]]]))
    array([0.25])
    """
    mass = np.abs(values).sum((1, 2), dtype=np.float64)
    negative = -np.minimum(values, 0).sum((1, 2), dtype=np.float64)
    return np.divide(negative, mass, out=np.zeros_like(mass), where=mass > 0)


def squared_sum(residual: Residual) -> float:
    """Σ R², without a squared copy."""
    return float(np.vdot(residual, residual))


def gather(found: list[tuple[int, Component, float]], events: int, intervals: int) -> Factors:
    """Components with their layers and explained shares, as factors; may be empty."""
    return Factors(
        layer=np.array([layer for layer, _, _ in found], dtype=np.int64),
        supports=np.array([one.support for _, one, _ in found], dtype=bool).reshape(len(found), events),
        curves=np.array([one.curve for _, one, _ in found], dtype=np.float64).reshape(len(found), intervals),
        explained=np.array([share for _, _, share in found], dtype=np.float64),
    )


def check_field(values: Float[np.ndarray, "layers events intervals"]) -> None:
    """Raise if the field is empty or has values that are not finite."""
    if 0 in values.shape:
        raise InvalidConfig(f"a priority field of shape {values.shape} is empty; give events and intervals")
    if not np.isfinite(values).all():
        layer, event, interval = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        raise InvalidConfig(
            f"the priority of event {event} in layer {layer}, interval {interval}, is "
            f"{values[layer, event, interval]}; leave out events with a non-finite loss"
        )


def _check_match(factors: Factors, values: Float[np.ndarray, "layers events intervals"]) -> None:
    layers, _, intervals = values.shape
    if factors.curves.shape[1] != intervals:
        raise InvalidConfig(
            f"the factors have {factors.curves.shape[1]} intervals but the priority field has {intervals}; "
            f"measure both at the same checkpoints"
        )
    if len(factors) and int(factors.layer.max()) >= layers:
        raise InvalidConfig(
            f"the factors reach layer {int(factors.layer.max())} but the priority field has {layers} layers; "
            f"group the parameters as for the factors"
        )
