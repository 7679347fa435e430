"""F1 of descriptions from counts, with intervals over examples."""

import numpy as np
from jaxtyping import Bool, Float, Int, Num

BOOTSTRAPS = 1000


def f1(
    both: Num[np.ndarray, "..."], described: Num[np.ndarray, "..."], active: Num[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """2 · both / (described + active) for counts of events that broadcast together; 0 if there are none.

    >>> f1(np.array([3, 0]), np.array([4, 0]), np.array([4, 0]))
    array([0.75, 0.  ])
    """
    total = (described + active).astype(np.float64)
    return 2 * both / np.where(total > 0, total, np.inf)


def example_counts(
    described: Bool[np.ndarray, "units events"],
    active: Bool[np.ndarray, "units events"],
    judged: Bool[np.ndarray, "units events"],
    example: Int[np.ndarray, " events"],
) -> Float[np.ndarray, "4 units examples"]:
    """Counts of judged events of each example: described and active, described, active, and all."""
    numbers, place = np.unique(example, return_inverse=True)
    tables = (described & active, described & judged, active & judged, judged)
    return np.stack(
        [np.stack([np.bincount(place, weights=row, minlength=len(numbers)) for row in table]) for table in tables]
    )


def bootstrap_counts(
    counts: Float[np.ndarray, "kinds units examples"], *, times: int = BOOTSTRAPS, seed: int = 0
) -> Float[np.ndarray, "kinds units times"]:
    """Total counts over bootstrap samples of examples; events of one example stay together."""
    examples = counts.shape[-1]
    drawn = np.random.default_rng(seed).multinomial(examples, np.full(examples, 1 / examples), size=times)
    return counts @ drawn.T.astype(np.float64)


def interval(values: Float[np.ndarray, "units times"]) -> Float[np.ndarray, "2 units"]:
    """The middle 95 % of each row."""
    return np.percentile(values, [2.5, 97.5], axis=1)
