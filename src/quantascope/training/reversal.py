"""Detects a reversed series of checkpoints from its losses."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quantascope.training.finding import Finding

REVERSED, SURELY = 0.9, 1e-3
"""A series is reversed if its losses rise at nearly every step, or with at most this p-value."""
FEWEST_LOSSES = 4
OSCILLATES = 0.1
"""If a larger share of triangles is violated, the run oscillates, and its loss may truly rise."""


def reversed_series(steps: Sequence[int], losses: Sequence[float], *, turning: float = 0.0) -> list[Finding]:
    """Check losses in the order of steps: one finding if they rise overall.

    If `turning` is large, the run oscillates and its loss may truly rise, so nothing is reported.

    >>> [finding.kind for finding in reversed_series([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])]
    ['reversed']
    """
    values = [loss for loss in losses if math.isfinite(loss)]
    if len(values) < FEWEST_LOSSES or len(set(values)) == 1 or values[-1] <= values[0]:
        return []
    rank, chance = _rank_correlation(values)
    if (rank <= REVERSED and chance >= SURELY) or turning > OSCILLATES:
        return []
    says = (
        f"the loss rises from {values[0]:.3g} at step {min(steps)} to {values[-1]:.3g} at step {max(steps)} (rank "
        f"correlation with the steps {rank:.2f}): the series seems to be in reverse"
    )
    return [Finding("reversed", None, says)]


def _rank_correlation(values: list[float]) -> tuple[float, float]:
    """Kendall's correlation with the order, and its p-value."""
    from scipy import stats  # imported here because it is slow to import

    found: Any = stats.kendalltau(np.arange(len(values)), np.array(values))
    return float(found.statistic), float(found.pvalue)
