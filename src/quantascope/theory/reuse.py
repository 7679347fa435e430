"""Conditional complexity with feature reuse: sensors read by acquired functions are cheaper.

A parity of degree k over n sensors gives a random neuron a gradient of order n^(−(k−1)/2) (Barak et al. 2022,
"Hidden progress in deep learning"), so from nothing κ = d/s grows as n^((k−1)/2). Once an acquired function
reads a sensor, the network has a feature of it, and the next function that needs the sensor finds it cheaper.
`FeatureReuse` says how much: each of a parity's sensors counts 1/(1 + acquired functions that read it).
"""

from collections.abc import Iterable, Sequence
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import _require
from quantascope.theory.poset import Poset


def parity_complexity(degree: int, sensors: int) -> float:
    """κ of a parity from nothing, up to a common factor.

    >>> parity_complexity(1, 96), parity_complexity(3, 96)
    (1.0, 96.0)
    """
    return float(sensors) ** ((degree - 1) / 2)


class FeatureReuse:
    """κ_q(I) = Σ over q and its ancestors outside I of local complexity × mean over features 1/(1 + readers in I).

    `parent` is the forest of soft prerequisites, `reads[q, f]` whether quantum q reads feature f.

    >>> reads = np.array([[True, True, False], [False, True, True]])
    >>> kappa = FeatureReuse(np.array([-1, -1]), reads, [1.0, 1.0])
    >>> kappa.of(1, np.array([False, False])), kappa.of(1, np.array([True, False]))
    (1.0, 0.75)
    """

    def __init__(
        self,
        parent: Int[np.ndarray, " quanta"],
        reads: Bool[np.ndarray, "quanta features"],
        local: Float[np.ndarray, " quanta"] | Sequence[float],
    ) -> None:
        self.size = len(reads)
        self.local: Float[np.ndarray, " quanta"] = _require.positive("local complexity", local, self.size)
        if not reads.any(1).all():
            raise InvalidConfig(f"quantum {int(np.argmin(reads.any(1)))} reads no feature; give each at least one")
        forest = Poset.forest(parent)
        self._path = [np.sort(np.append(forest.ancestors(q), q)) for q in range(self.size)]
        self._reads, self._share = reads, reads / reads.sum(1, keepdims=True)
        on_path = np.zeros((self.size, self.size), dtype=bool)
        for q, path in enumerate(self._path):
            on_path[q, path] = True
        touched = on_path @ reads
        self._dependents = [np.flatnonzero(touched @ reads[q]).tolist() for q in range(self.size)]

    @no_type_check
    def of(self, quantum: int, acquired: np.ndarray) -> float:
        path = self._path[quantum]
        missing = path[~acquired[path] | (path == quantum)]
        discount = 1 / (1 + self._reads[acquired].sum(0))
        return float(self.local[missing] @ (self._share[missing] @ discount))

    @no_type_check
    def dependents(self, quantum: int) -> Iterable[int]:
        """Quanta that read one of its features somewhere on their path; its descendants are among them."""
        return self._dependents[quantum]
