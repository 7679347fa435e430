"""Scores the agreement of found supports with known units.

`best_match_f1` pairs units and supports one to one so that the sum of F1 is largest and averages over the units; a
unit without partner scores zero. `adjusted_mutual_information` compares two labellings of the events, zero at
chance and one at agreement. An event with several factors is labelled by the one with the largest curve.
"""

import numpy as np
from jaxtyping import Bool, Float, Int


def best_match_f1(found: Bool[np.ndarray, "found events"], units: Bool[np.ndarray, "units events"]) -> float:
    """Mean over units of the F1 of the paired support.

    >>> units = np.array([[True, True, False, False], [False, False, True, True]])
    >>> best_match_f1(units[:1], units), best_match_f1(units[::-1], units)
    (0.5, 1.0)
    """
    from scipy.optimize import linear_sum_assignment  # imported here because it is slow to import

    scores = f1_scores(found, units)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    return float(scores[rows, columns].sum() / len(units))


def f1_scores(
    found: Bool[np.ndarray, "found events"], units: Bool[np.ndarray, "units events"]
) -> Float[np.ndarray, "units found"]:
    """F1 of every support as a prediction of every unit; zero if both are empty."""
    both = units.astype(np.float64) @ found.T.astype(np.float64)
    sizes = np.add.outer(units.sum(1), found.sum(1)).astype(np.float64)
    return np.divide(2 * both, sizes, out=np.zeros_like(both), where=sizes > 0)


def adjusted_mutual_information(found: Int[np.ndarray, " events"], truth: Int[np.ndarray, " events"]) -> float:
    """Mutual information of two labellings over their mean entropy, corrected for chance."""
    from sklearn.metrics import adjusted_mutual_info_score  # imported here because it takes a second to import

    return float(adjusted_mutual_info_score(truth, found))


def supports_of(labels: Int[np.ndarray, " events"]) -> Bool[np.ndarray, "labels events"]:
    """One support per label that occurs; −1 means no label.

    >>> supports_of(np.array([0, 2, -1])).astype(int)
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    return np.unique(labels[labels >= 0])[:, None] == labels
