"""Declares the tensors of an artefact, or the columns of a table, in one line each: `"float events intervals"`.

The first word is the kind of value, the others name the axes, for a column those of each row. Axes of one name
have one length throughout. A kind with a question mark, as `"text?"`, may be empty in some rows of a column.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import Tensor

from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.files import RUN_AGAIN


def check_tensors(
    path: Path,
    tensors: Mapping[str, Tensor],
    expected: Mapping[str, str],
    *,
    sizes: Mapping[str, int] | None = None,
    remedy: str = RUN_AGAIN,
) -> None:
    """Raise if tensors have other names, kinds or shapes, or are not finite; `sizes` are known axes.

    >>> check_tensors(Path("field"), {"loss": torch.zeros(3, 2)}, {"loss": "float events"})
    Traceback (most recent call last):
    quantascope.runs.errors.DamagedArtefact: field: tensor 'loss' is float [3, 2], not float [events]; move ...
    """
    known = dict(sizes or {})
    for name in sorted({*tensors, *expected}):
        if name not in tensors:
            raise DamagedArtefact(f"{path} has no tensor '{name}'; {remedy}")
        if name not in expected:
            raise DamagedArtefact(f"{path} has an unexpected tensor '{name}'; {remedy}")
    for name, form in expected.items():
        tensor, (kind, *axes) = tensors[name], form.split()
        found = list(tensor.shape)
        fits = len(axes) == len(found) and all(
            known.setdefault(axis, size) == size for axis, size in zip(axes, found, strict=True)
        )
        if _kind(tensor) != kind or not fits:
            wanted = ", ".join(f"{axis} = {known[axis]}" if axis in known else axis for axis in axes)
            raise DamagedArtefact(
                f"{path}: tensor '{name}' is {_kind(tensor)} {found}, not {kind} [{wanted}]; {remedy}"
            )
        if kind == "float" and not _is_finite(tensor):
            raise DamagedArtefact(f"{path}: tensor '{name}' has values that are not finite; {remedy}")


def check_columns(
    path: Path,
    table: pl.DataFrame,
    expected: Mapping[str, str],
    *,
    sizes: Mapping[str, int] | None = None,
    remedy: str = RUN_AGAIN,
) -> None:
    """Raise if a table lacks columns, or they have other kinds or shapes, or empty cells; others may be there.

    >>> check_columns(Path("metrics"), pl.DataFrame({"step": [[1], [2]]}), {"step": "int"})
    Traceback (most recent call last):
    quantascope.runs.errors.DamagedArtefact: metrics: column 'step' is List(Int64), not int; move it away ...
    """
    known = dict(sizes or {})
    for name, form in expected.items():
        if name not in table.columns:
            raise DamagedArtefact(f"{path} has no column '{name}'; {remedy}")
        column, (kind, *axes) = table[name], form.split()
        inner, found = column.dtype, ()
        if isinstance(inner, pl.Array):
            inner, found = _innermost(inner), inner.shape
        fits = len(axes) == len(found) and all(
            known.setdefault(axis, size) == size for axis, size in zip(axes, found, strict=True)
        )
        optional = kind.endswith("?")
        if not fits or _kind_of(inner) not in (kind.removesuffix("?"), "nothing" if optional else None):
            wanted = f" [{', '.join(f'{axis} = {known[axis]}' if axis in known else axis for axis in axes)}]"
            raise DamagedArtefact(
                f"{path}: column '{name}' is {column.dtype}, not {kind}{wanted if axes else ''}; {remedy}"
            )
        if not optional and _has_empty(column):
            raise DamagedArtefact(f"{path}: column '{name}' has empty cells; {remedy}")


def _innermost(kind: Any) -> Any:
    return _innermost(kind.inner) if isinstance(kind, pl.Array) else kind


def _kind_of(kind: Any) -> str:
    if kind.is_integer() or kind.is_float():
        return "int" if kind.is_integer() else "float"
    return {pl.Boolean: "bool", pl.String: "text", pl.Null: "nothing"}.get(kind.base_type(), "other")


def _has_empty(column: pl.Series) -> bool:
    while isinstance(column.dtype, pl.Array) and not column.null_count():
        column = column.explode()
    return bool(column.null_count())


def is_named(value: Any) -> bool:
    """Whether a value is a list of names."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_finite(tensor: Tensor) -> bool:
    """Whether no entry is NaN or infinite: one pass and no copy, since the extremes show either."""
    return not tensor.numel() or all(map(math.isfinite, map(float, tensor.aminmax())))


def _kind(tensor: Tensor) -> str:
    if tensor.is_floating_point():
        return "float"
    return "bool" if tensor.dtype == torch.bool else "complex" if tensor.is_complex() else "int"
