"""Devices: a network runs on the device of its parameters.

Files, data and results stay on the CPU. A function that runs a network moves the batch to it and brings back what
it returns. Random numbers are drawn on the CPU and moved, so that a seed means the same run on every device.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from quantascope.runs.errors import InvalidConfig

CPU = torch.device("cpu")
NAMES = r"cpu|cuda(:\d{1,2})?|mps"


def find_device(name: str | torch.device) -> torch.device:
    """The device of this name; raises if torch cannot use it.

    >>> find_device("cpu")
    device(type='cpu')
    >>> find_device("gpu")
    Traceback (most recent call last):
    quantascope.runs.errors.InvalidConfig: there is no device 'gpu'; give cpu, cuda, cuda:N or mps
    """
    if not re.fullmatch(NAMES, str(name)):
        raise InvalidConfig(f"there is no device '{name}'; give cpu, cuda, cuda:N or mps")
    device = torch.device(name)
    if reason := missing(device):
        raise InvalidConfig(f"{name} is not available here: {reason}; use --device cpu")
    return device


def missing(device: torch.device) -> str | None:
    """The reason why a device is not available; None if it is."""
    if device.type == "cuda":
        if not torch.backends.cuda.is_built():
            return "this torch build has no CUDA"
        if not torch.cuda.is_available():
            return "torch finds no GPU, or no driver for it"
        if (device.index or 0) >= torch.cuda.device_count():
            return f"the last GPU is cuda:{torch.cuda.device_count() - 1}"
    if device.type == "mps":
        if not torch.backends.mps.is_built():
            return "this torch build has no MPS"
        if not torch.backends.mps.is_available():
            return "torch finds no Apple GPU"
    return None


def free_bytes(device: torch.device) -> float | None:
    """Free memory of a GPU; None for a device that uses the machine's memory."""
    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else None


def device_of(model: Any) -> torch.device:
    """The device of a model's first parameter, or the CPU if it has none.

    >>> device_of(nn.Linear(1, 1)), device_of(torch.sin)
    (device(type='cpu'), device(type='cpu'))
    """
    first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    return CPU if first is None else first.device


def moved(batch: Any, device: torch.device) -> Any:
    """Move a batch to a device: anything with a `to`, also inside tuples, lists, mappings and dataclasses.

    Other objects are not changed, and nothing is changed if the device is the CPU.

    >>> moved({"rows": torch.zeros(2), "title": "zeros"}, torch.device("meta"))
    {'rows': tensor(..., device='meta', size=(2,)), 'title': 'zeros'}
    """
    if device == CPU:
        return batch
    if hasattr(batch, "to"):
        return batch.to(device)
    if isinstance(batch, tuple | list):
        parts = [moved(one, device) for one in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    if isinstance(batch, Mapping):
        return {name: moved(one, device) for name, one in batch.items()}
    if is_dataclass(batch) and not isinstance(batch, type):
        return replace(
            batch, **{one.name: moved(getattr(batch, one.name), device) for one in fields(batch) if one.init}
        )
    return batch


def noise_like(values: Tensor) -> Tensor:
    """Standard normal noise with the shape and device of `values`, drawn on the CPU."""
    return torch.randn_like(values, device=CPU).to(values.device)
