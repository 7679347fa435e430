"""Declares the tensors of an artefact in one line each: `"float events intervals"`.

The first word is the kind of number, the others name the axes. Axes of one name have one length throughout.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
