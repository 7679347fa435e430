"""Checks that the modules of this package share; each failure names the value and the remedy."""

import operator
from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np
from jaxtyping import Bool, Float

from quantascope.runs.errors import InvalidConfig

Numbers = np.ndarray | Sequence[int | float] | int | float
"""One number or several: numpy's ArrayLike, in a form that can be checked at run time."""


def whole(name: str, value: SupportsIndex, least: int) -> int:
    """`value` as an int that is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidConfig(f"{name} is {value!r}; give a whole number of at least {least}") from None
    if number < least:
        raise InvalidConfig(f"{name} is {number}; give at least {least}")
    return number


def positive_number(name: str, value: float) -> float:
    """`value` as a float that is finite and above zero."""
    if not 0 < value < np.inf:
        raise InvalidConfig(f"{name} is {value!r}; give a finite number above zero")
    return float(value)


def positive(name: str, values: Numbers, length: int | None = None) -> Float[np.ndarray, " values"]:
    """`values` as a read-only vector whose entries are finite and above zero."""
    vector = _vector(name, values, length)
    _refuse(name, vector, np.isfinite(vector) & (vector > 0), "a finite number above zero")
    return vector


def nonnegative(name: str, values: Numbers, length: int | None = None) -> Float[np.ndarray, " values"]:
    """`values` as a read-only vector whose entries are finite and not below zero."""
    vector = _vector(name, values, length)
    _refuse(name, vector, np.isfinite(vector) & (vector >= 0), "a finite number of at least zero")
    return vector


def mask(name: str, values: Numbers, length: int) -> Bool[np.ndarray, " values"]:
    """`values` as a Boolean vector of the given length."""
    vector = np.asarray(values)
    if vector.dtype != np.bool_ or vector.shape != (length,):
        raise InvalidConfig(f"{name} has type {vector.dtype} and shape {vector.shape}; give {length} Booleans")
    return vector


def _vector(name: str, values: Numbers, length: int | None) -> Float[np.ndarray, " values"]:
    vector = np.array(values, dtype=np.float64)
    if vector.ndim != 1 or (length is not None and vector.shape != (length,)):
        wanted = "one dimension" if length is None else f"shape ({length},)"
        raise InvalidConfig(f"{name} has shape {vector.shape}; give an array of {wanted}")
    vector.setflags(write=False)
    return vector


def _refuse(
    name: str, vector: Float[np.ndarray, " values"], fine: Bool[np.ndarray, " values"], wanted: str
) -> None:
    wrong = np.flatnonzero(~fine)
    if wrong.size:
        raise InvalidConfig(f"{name}[{wrong[0]}] is {float(vector[wrong[0]])!r}; give {wanted}")
