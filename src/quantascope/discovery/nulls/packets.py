"""Random packets: a null for the factors' curves, times and complexities.

A factor's curve is the mean priority of its events. Any set of events has such a curve, and so an acquisition time
and a complexity. A property that random sets also have is a property of the run, not of its factors.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from quantascope.discovery.factors import Factors
from quantascope.runs.errors import InvalidConfig

Packet = Literal["sets", "events"]
PATIENCE = 1000


def random_packets(
    factors: Factors,
    values: Float[np.ndarray, "layers events intervals"],
    rng: np.random.Generator,
    *,
    of: Packet = "sets",
) -> Factors:
    """Replace each factor by equally many random events of its layer, or by one, with their mean curve.

    >>> values = np.array([[[2.0, 0.0], [0.0, 4.0], [-1.0, -1.0]]])
    >>> factor = Factors(
    ...     layer=np.array([0]),
    ...     supports=np.array([[True, True, True]]),
    ...     curves=np.array([[1.0, 0.0]]),
    ...     explained=np.array([0.5]),
    ... )
    >>> random_packets(factor, values, np.random.default_rng(0)).curves.round(2)
    array([[0.33, 1.  ]])
    >>> random_packets(factor, values, np.random.default_rng(0), of="events").supports.sum()
    np.int64(1)
    """
    supports, curves = np.zeros_like(factors.supports), np.zeros_like(factors.curves)
    for factor, layer in enumerate(factors.layer.tolist()):
        size = int(factors.supports[factor].sum()) if of == "sets" else 1
        for _ in range(PATIENCE):
            chosen = rng.choice(values.shape[1], size, replace=False)
            curves[factor] = np.maximum(values[layer, chosen].mean(0, dtype=np.float64), 0)
            if curves[factor].any():
                supports[factor, chosen] = True
                break
        else:
            raise InvalidConfig(f"no {size} events of layer {layer} have credit; measure a source that learned")
    return Factors(layer=factors.layer, supports=supports, curves=curves, explained=np.zeros(len(factors)))


def context_packets(
    factors: Factors,
    values: Float[np.ndarray, "layers events intervals"],
    groups: Int[np.ndarray, " events"],
    rng: np.random.Generator,
) -> Factors:
    """Replace each factor by equally many random events of every group, with their mean curve.

    Factors whose random events have no credit in total are left out.

    >>> values = np.array([[[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]]])
    >>> factor = Factors(
    ...     layer=np.array([0]),
    ...     supports=np.array([[True, True, False]]),
    ...     curves=np.array([[1.0, 0.0]]),
    ...     explained=np.array([0.5]),
    ... )
    >>> context_packets(factor, values, np.array([0, 0, 1]), np.random.default_rng(0)).supports
    array([[ True,  True, False]])
    """
    order = np.argsort(groups, kind="stable")
    supports, curves = np.zeros_like(factors.supports), np.zeros_like(factors.curves)
    for factor, layer in enumerate(factors.layer.tolist()):
        supports[factor, order] = factors.supports[factor, np.lexsort((rng.random(len(groups)), groups))]
        curves[factor] = np.maximum(values[layer, supports[factor]].mean(0, dtype=np.float64), 0)
    kept = curves.any(1)
    return Factors(
        layer=factors.layer[kept],
        supports=supports[kept],
        curves=curves[kept],
        explained=np.zeros(int(kept.sum())),
    )
