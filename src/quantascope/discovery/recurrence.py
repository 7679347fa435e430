"""Finds which quanta recur when the source is trained again from another seed.

Factors of two runs are compared by their supports on the same events, whatever their layers: the Matthews
correlation (MCC) of each pair, and the one-to-one matching of the largest sum. The level of chance is measured by
shuffling the events of one run, which keeps the sizes and overlaps of its supports. There are two such levels.

    all events      The 95th percentile of the *largest* match of a shuffled run: one level for a pair of runs.
    within groups   Events are shuffled among those of their group alone, such as one output word, so that a match
                    must be closer than the groups explain. How much they explain differs from pair to pair, hence
                    each has its own level: its mean over shuffles and c standard deviations, c being the 95th
                    percentile of the largest deviation of any pair.

A factor recurs in another run if its match is above the level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.discovery.factors import Factors
from quantascope.runs.errors import InvalidConfig

Supports = Bool[np.ndarray, "_ events"]
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Match:
    """Matched pairs of factors of two runs, and the MCC of their supports."""

    first: Int[np.ndarray, " pairs"]
    second: Int[np.ndarray, " pairs"]
    mcc: Float[np.ndarray, " pairs"]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The match of one run's factors in every run: partner (−1 for none), MCC (NaN for none), chance level.

    A run's own column holds no partners. Where the level depends on the pair, it is NaN without a partner.
    """

    partner: Int[np.ndarray, "factors runs"]
    mcc: Float[np.ndarray, "factors runs"]
    chance: Float[np.ndarray, "factors runs"]
    run: int

    @property
    def recurs(self) -> Bool[np.ndarray, "factors runs"]:
        """Whether each factor's match is above chance, for every run."""
        return self.mcc > self.chance

    @property
    def share(self) -> Float[np.ndarray, " factors"]:
        """Share of the other runs in which a factor recurs."""
        return self.recurs.sum(1) / (self.chance.shape[1] - 1)


def correlations(first: Supports, second: Supports) -> Float[np.ndarray, "_ _"]:
    """MCC of every support of one run with every support of another; zero for a support with all events or none.

    >>> a = np.array([[True, True, False, False]])
    >>> correlations(a, np.vstack([a, ~a, [[True, False, True, False]]]))
    array([[ 1., -1.,  0.]])
    """
    events = first.shape[1]
    both = first.astype(np.float64) @ second.T.astype(np.float64)
    size, other = first.sum(1, dtype=np.float64), second.sum(1, dtype=np.float64)
    spread = np.sqrt(np.outer(size * (events - size), other * (events - other)))
    return np.divide(events * both - np.outer(size, other), spread, out=np.zeros_like(both), where=spread > 0)


def match(first: Factors, second: Factors) -> Match:
    """The one-to-one matching with the largest sum of MCCs.

    >>> def factors(*supports: list[int]) -> Factors:
    ...     member, one = np.array(supports, dtype=bool), np.ones(len(supports))
    ...     return Factors(layer=one.astype(int), supports=member, curves=one[:, None], explained=one)
    >>> found = match(factors([1, 1, 0, 0], [0, 0, 1, 0]), factors([0, 0, 1, 0], [1, 1, 0, 0]))
    >>> found.second, found.mcc
    (array([1, 0]), array([1., 1.]))
    """
    events, others = first.supports.shape[1], second.supports.shape[1]
    if events != others:
        raise InvalidConfig(
            f"supports over {events} and {others} events cannot be compared; assign both on the same ones"
        )
    return _match(first.supports, second.supports)


def chance_matches(
    first: Factors, second: Factors, *, permutations: int, seed: int
) -> Float[np.ndarray, "permutations pairs"]:
    """MCCs of the matchings after shuffling the events of the second run."""
    rng = np.random.default_rng(seed)
    return np.stack(
        [_match(first.supports, rng.permutation(second.supports, axis=1)).mcc for _ in range(permutations)]
    )


def chance_within(
    first: Factors, second: Factors, groups: Int[np.ndarray, " events"], *, permutations: int, seed: int
) -> Float[np.ndarray, "_ _"]:
    """The chance level of every pair of factors, from shuffles of the second run's events within groups."""
    rng = np.random.default_rng(seed)
    order = np.argsort(groups, kind="stable")
    shuffled = np.empty_like(order)
    found = []
    for _ in range(permutations):
        shuffled[order] = np.lexsort((rng.random(len(groups)), groups))
        found.append(correlations(first.supports, second.supports[:, shuffled]))
    drawn = np.stack(found)
    mean, spread = drawn.mean(0), drawn.std(0)
    varies = spread > ROUNDING  # a support made of whole groups does not change
    deviation = np.divide(drawn - mean, spread, out=np.zeros_like(drawn), where=varies)
    return mean + np.where(varies, np.quantile(deviation.max((1, 2)), 0.95) * spread, ROUNDING)


def recurrence(
    runs: Sequence[Factors],
    *,
    within: Int[np.ndarray, " events"] | None = None,
    permutations: int = 200,
    seed: int = 0,
) -> list[Recurrence]:
    """For each run, its factors' partners in all other runs, with chance levels; `within` groups the events."""
    if len(runs) < 2:
        raise InvalidConfig(f"recurrence needs at least two runs, got {len(runs)}")
    if within is not None and len(within) != runs[0].supports.shape[1]:
        raise InvalidConfig(f"{len(within)} of {runs[0].supports.shape[1]} events have a group; give each one")
    if empty := [index for index, run in enumerate(runs) if not len(run)]:
        raise InvalidConfig(f"run {empty[0]} has no factors; lower the threshold of the factorization")
    partner = [np.full((len(run), len(runs)), -1) for run in runs]
    mcc = [np.full((len(run), len(runs)), np.nan) for run in runs]
    chance = [np.full((len(run), len(runs)), np.nan) for run in runs]
    for a in range(len(runs)):
        for b in range(a + 1, len(runs)):
            pairs = match(runs[a], runs[b])
            partner[a][pairs.first, b], mcc[a][pairs.first, b] = pairs.second, pairs.mcc
            partner[b][pairs.second, a], mcc[b][pairs.second, a] = pairs.first, pairs.mcc
            if within is None:
                largest = chance_matches(runs[a], runs[b], permutations=permutations, seed=seed).max(1)
                chance[a][:, b] = chance[b][:, a] = np.quantile(largest, 0.95)
            else:
                levels = chance_within(runs[a], runs[b], within, permutations=permutations, seed=seed)
                of_pairs = levels[pairs.first, pairs.second]
                chance[a][pairs.first, b] = chance[b][pairs.second, a] = of_pairs
    return [Recurrence(partner[run], mcc[run], chance[run], run) for run in range(len(runs))]


def _match(first: Supports, second: Supports) -> Match:
    from scipy.optimize import linear_sum_assignment  # imported here because it is slow to import

    mcc = correlations(first, second)
    rows, columns = linear_sum_assignment(mcc, maximize=True)
    return Match(rows, columns, mcc[rows, columns])
