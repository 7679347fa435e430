"""Measures the memory of a computation per example, and how many examples fit a budget."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from quantascope.runs.errors import InvalidConfig
from quantascope.runs.memory import shown_bytes


class PeakMemory(TorchDispatchMode):
    """Context manager that counts the peak bytes of tensors created inside it.

    >>> with PeakMemory() as memory:
    ...     for _ in range(3):
    ...         made = torch.zeros(250) + 1
    >>> memory.peak
    3000
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._now = 0
        self._alive: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for made in out if isinstance(out, tuple | list) else (out,):
            if isinstance(made, torch.Tensor):
                self._note(made)
        return out

    def _note(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage.data_ptr() or (storage._cdata if tensor.is_meta else 0)
        if key and key not in self._alive:
            self._alive[key] = storage.nbytes()
            self._now += storage.nbytes()
            self.peak = max(self.peak, self._now)
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self._now -= self._alive.pop(key, 0)


@dataclass(frozen=True)
class Footprint:
    """The bytes of a computation: for one example, and for each further example.

    >>> Footprint(one=100.0, each=10.0).within(150.0), Footprint(one=100.0, each=10.0).bytes(6)
    (6, 150.0)
    """

    one: float
    each: float
    available: int = 1_000_000

    @classmethod
    def of(cls, work: Callable[[slice], Any], *, available: int) -> "Footprint":
        """Measure the footprint of work on ranges of examples, using the last examples.

        In a list sorted by length, these are the longest; the estimate is good if they represent the others.
        """
        few = min(5, available)
        one, top = _peak(work, slice(available - 1, available)), _peak(work, slice(available - few, available))
        return cls(float(one), max((top - one) / max(few - 1, 1), 1.0), available)

    def within(self, budget: float) -> int:
        """Number of examples that fit a budget in bytes."""
        if budget < self.one:
            raise InvalidConfig(
                f"a memory budget of {shown_bytes(budget)} is too small for one example; give at least "
                f"{shown_bytes(self.one)}"
            )
        return min(1 + int(min((budget - self.one) / self.each, self.available)), self.available)

    def bytes(self, examples: int) -> float:
        """The bytes of `examples` examples processed at once."""
        return self.one + (examples - 1) * self.each


def check_budget(memory: float) -> None:
    """Raise if a budget in bytes is not positive."""
    if not memory > 0:
        raise InvalidConfig(f"a memory budget of {memory / 1e9:g}  GB is too small; give more than 0")


def _peak(work: Callable[[slice], Any], examples: slice) -> int:
    with PeakMemory() as memory:
        work(examples)
    return memory.peak
