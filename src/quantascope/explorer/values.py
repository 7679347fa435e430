"""Numbers for the page."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Num

DIGITS = 6
"""Significant digits of plotted curves; tables are not rounded."""


def drawn(values: Num[np.ndarray, " points"]) -> list[float | None]:
    """A rounded curve, with None for values that are not finite.

    >>> drawn(np.array([1 / 3, np.nan, 1e9]))
    [0.333333, None, 1000000000.0]
    """
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values.tolist()]


def thinned(count: int, most: int) -> list[int]:
    """At most `most` of `count` indices, evenly spaced, including the first and the last.

    >>> thinned(5, 3), thinned(2, 3)
    ([0, 2, 4], [0, 1])
    """
    if count <= most:
        return list(range(count))
    return sorted(set(np.rint(np.linspace(0, count - 1, most)).astype(int).tolist()))


def finite(value: Any) -> Any:
    """The values with None in place of NaN and infinity, which JSON does not have.

    >>> finite({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value
