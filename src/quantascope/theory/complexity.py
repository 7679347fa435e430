"""Conditional complexity κ_q(I) of section 3: the cost of acquiring q given the acquired set I.

The priority of a quantum is ω_q(I) = p_q / κ_q(I). `MissingAncestors` is the soft cost of appendix "HSP
Acquisition Diagnostics": missing ancestors make a quantum more expensive, but do not forbid it.

The simulators call these methods once per quantum and event: the tests' runtime type checks stay out of them.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, no_type_check, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.theory import _require
from quantascope.theory.poset import Poset


@runtime_checkable
class Complexity(Protocol):
    """Protocol of κ for the simulators."""

    def of(self, quantum: int, acquired: Bool[np.ndarray, " quanta"]) -> float:
        """κ_q(I), finite and above zero."""
        ...

    def dependents(self, quantum: int) -> Iterable[int]:
        """The quanta whose κ may change once `quantum` is acquired."""
        ...


class ConstantComplexity:
    """κ_q that does not depend on what was acquired.

    >>> ConstantComplexity([1.0, 3.0]).of(1, np.array([True, False]))
    3.0
    """

    def __init__(self, values: Float[np.ndarray, " quanta"] | Sequence[float]) -> None:
        self.values: Float[np.ndarray, " quanta"] = _require.positive("complexity", values)
        self.size = self.values.size
        self._of = self.values.tolist()

    @no_type_check
    def of(self, quantum: int, acquired: np.ndarray) -> float:
        return self._of[quantum]

    @no_type_check
    def dependents(self, quantum: int) -> Iterable[int]:
        return ()


class MissingAncestors:
    """κ_q(I) = the local complexity of q plus that of each of its ancestors outside I.

    Use it with an antichain: any quantum may then come first at the price of its whole missing path.

    >>> chain = MissingAncestors(np.array([-1, 0, 1]), [1.0, 2.0, 4.0])
    >>> chain.of(2, np.array([False, False, False])), chain.of(2, np.array([False, True, False]))
    (7.0, 5.0)
    >>> list(chain.dependents(0))
    [1, 2]
    """

    def __init__(
        self, parent: Int[np.ndarray, " quanta"], local: Float[np.ndarray, " quanta"] | Sequence[float]
    ) -> None:
        self.forest = Poset.forest(parent)
        self.size = self.forest.size
        self.local: Float[np.ndarray, " quanta"] = _require.positive("local complexity", local, self.size)
        self._parent, self._local = np.asarray(parent).tolist(), self.local.tolist()

    @no_type_check
    def of(self, quantum: int, acquired: np.ndarray) -> float:
        total, ancestor = self._local[quantum], self._parent[quantum]
        while ancestor != -1:
            if not acquired[ancestor]:
                total += self._local[ancestor]
            ancestor = self._parent[ancestor]
        return total

    @no_type_check
    def dependents(self, quantum: int) -> Iterable[int]:
        """The proper descendants, level by level."""
        level = self.forest.successor.of(quantum)
        while level.size:
            yield from level.tolist()
            level = self.forest.successor.of_all(level)
