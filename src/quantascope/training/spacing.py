"""Steps between which priority is measured: equally spaced, or closer together early in training.

A network that learns most of what it learns in a few percent of its training needs short intervals there. Public
series of checkpoints are spaced in this way too.
"""

from typing import Literal

import numpy as np

Spacing = Literal["equal", "logarithmic"]
EARLIEST = 1e-3
"""Where the first logarithmic interval ends, as a share of training."""


def interval_ends(steps: int, intervals: int, spacing: Spacing = "equal") -> list[int]:
    """The ends of at most `intervals` intervals from step 0 to `steps`, each at least one step long.

    >>> interval_ends(100, 4)
    [0, 25, 50, 75, 100]
    >>> interval_ends(10_000, 4, "logarithmic")
    [0, 10, 100, 1000, 10000]
    >>> interval_ends(20, 6, "logarithmic")
    [0, 1, 2, 3, 6, 11, 20]
    """
    if spacing == "equal":
        return sorted(set(np.rint(np.linspace(0, steps, intervals + 1)).astype(int).tolist()))
    ends = [0]
    for wanted in np.geomspace(max(1.0, EARLIEST * steps), steps, intervals)[:-1]:
        ends.append(min(steps, max(ends[-1] + 1, round(wanted))))
    return sorted({*ends, steps})
