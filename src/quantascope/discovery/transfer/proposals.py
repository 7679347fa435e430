"""Methods that propose sets of events; each set is a candidate for a computation that its events share.

All use the same source: its priority field along the path, the gradients of its events at the last checkpoint
or along the path, and its loss curves. Clusterings use the number of factors. Two nulls keep some of what the
events of a factor have in common: `random` sets have as many events of every output word as a factor, and `alike`
sets have, for each event of a factor, another one of the same output word with a like loss curve.

The transfer kernel of two events is Σ η⟨∇L, ∇L'⟩ over training: how much training on one lowers the loss of the
other, to first order. Events of one output word share most of it, so it is also clustered after subtracting each
word's mean gradient.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from quantascope.discovery.corrective import factorize_corrective
from quantascope.discovery.factorize import factorize
from quantascope.discovery.factors import Factors
from quantascope.discovery.field import PriorityField
from quantascope.discovery.fingerprints import factorize_fingerprints
from quantascope.discovery.nulls.baselines import side_by_side
from quantascope.discovery.nulls.clusterings import (
    cluster_gradients_by_means,
    cluster_gradients_spectrally,
    cluster_nmf,
    cluster_rows,
)
from quantascope.discovery.score import supports_of
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import TiedLosses
from quantascope.sources.source import Source

Sets = Bool[np.ndarray, "sets events"]
LEAST_EVENTS = 24
MOST_SHARE = 0.8
KERNEL_POINTS = 10


@dataclass(frozen=True, eq=False)
class Proposer:
    """The inputs of a method; `known` are externally given sets, such as a program's quanta."""

    source: Source
    priority: PriorityField
    word: Int[np.ndarray, " events"]
    threshold: float = 0.03
    seed: int = 0
    known: Mapping[str, Sets] = field(default_factory=dict)

    def propose(self, method: str) -> Sets:
        """The sets of a method that are large enough to be split and small enough to have controls."""
        if method not in METHODS and method not in self.known:
            names = ", ".join([*METHODS, *self.known])
            raise InvalidConfig(f"unknown method '{method}'; known methods are {names}")
        sets = self.known[method] if method in self.known else METHODS[method](self)
        size = sets.sum(1)
        return sets[(size >= LEAST_EVENTS) & (size <= MOST_SHARE * sets.shape[1])]

    @cached_property
    def factors(self) -> Factors:
        """The paper's factors."""
        return factorize(self.priority.values, threshold=self.threshold)

    @property
    def clusters(self) -> int:
        """Number of clusters for clusterings."""
        return max(2, len(self.factors))

    @cached_property
    def gram(self) -> Float[np.ndarray, "events events"]:
        """Inner products of the events' gradients at the last checkpoint."""
        return gradient_gram(self.source)

    @cached_property
    def kernel(self) -> Float[np.ndarray, "events events"]:
        """The transfer kernel, summed over `KERNEL_POINTS` checkpoints at equal distances."""
        trajectory = self.source.trajectory
        at = np.unique(np.linspace(0, len(trajectory) - 1, KERNEL_POINTS, endpoint=False).astype(int))
        mass = np.add.reduceat(np.asarray(trajectory.learning_rate_mass, dtype=np.float64), at)
        grams = [gradient_gram(self.source, place) for place in at.tolist()]
        return np.tensordot(mass, np.stack(grams), 1)

    def random_sets(self) -> Sets:
        """For each factor, a random set with as many events of every output word."""
        rng = np.random.default_rng([self.seed, 1])
        drawn = np.zeros_like(self.factors.supports)
        for row, support in zip(drawn, self.factors.supports, strict=True):
            for word in np.unique(self.word[support]):
                own = np.flatnonzero(self.word == word)
                row[rng.choice(own, int(support[own].sum()), replace=False)] = True
        return drawn

    def alike_sets(self) -> Sets:
        """For each factor, a set of stand-ins for its events."""
        rng = np.random.default_rng([self.seed, 2])
        return np.array([stand_ins(own, self.word, self.priority.losses, rng) for own in self.factors.supports])


def stand_ins(
    members: Bool[np.ndarray, " events"],
    word: Int[np.ndarray, " events"],
    curves: Float[np.ndarray, "events checkpoints"],
    rng: np.random.Generator,
) -> Bool[np.ndarray, " events"]:
    """For each event of a set, in random order, the other event of its word with the nearest loss curve.

    No event is taken twice. The last events of a word may be their own stand-ins, if no other is left.

    >>> curves = np.array([[0.0], [0.3], [0.1], [9.0], [9.2], [5.0]])
    >>> members = np.array([True, False, False, True, False, True])
    >>> stand_ins(members, np.array([0, 0, 0, 1, 1, 2]), curves, np.random.default_rng(0))
    array([False, False,  True, False,  True,  True])
    """
    taken = np.zeros_like(members)
    for event in rng.permutation(np.flatnonzero(members)).tolist():
        left = np.flatnonzero((word == word[event]) & ~taken)
        others = left[left != event]
        left = others if len(others) else left
        taken[left[np.linalg.norm(curves[left] - curves[event], axis=1).argmin()]] = True
    return taken


METHODS: dict[str, Callable[[Proposer], Sets]] = {
    "factors": lambda seen: seen.factors.supports,
    "corrective": lambda seen: factorize_corrective(seen.priority.values).supports,
    "fingerprints": lambda seen: factorize_fingerprints(seen.priority.values).supports,
    "spectral": lambda seen: supports_of(cluster_gradients_spectrally(seen.gram, seen.clusters)),
    "kmeans": lambda seen: supports_of(cluster_gradients_by_means(seen.gram, seen.clusters)),
    "kernel": lambda seen: supports_of(cluster_gradients_spectrally(seen.kernel, seen.clusters)),
    "kernel_within_words": lambda seen: supports_of(
        cluster_gradients_spectrally(within_groups(seen.kernel, seen.word), seen.clusters)
    ),
    "nmf": lambda seen: supports_of(cluster_nmf(side_by_side(seen.priority.values), seen.clusters)),
    "loss_curves": lambda seen: supports_of(cluster_rows(seen.priority.losses.astype(np.float64), seen.clusters)),
    "words": lambda seen: supports_of(seen.word),
    "random": Proposer.random_sets,
    "alike": Proposer.alike_sets,
}
"""The paper's factors, variants of them, clusterings, the output words, and two nulls."""
OF_FACTORS = ("factors", "random", "alike")
"""Methods that propose a set for each factor, in its order."""


def within_groups(
    kernel: Float[np.ndarray, "events events"], group: Int[np.ndarray, " events"]
) -> Float[np.ndarray, "events events"]:
    """The inner products of gradients after subtracting each group's mean gradient.

    >>> gradients = np.array([[3.0, 1.0], [3.0, -1.0], [0.0, 2.0], [0.0, 4.0]])
    >>> within_groups(gradients @ gradients.T, np.array([0, 0, 1, 1]))[0]
    array([ 1., -1., -1.,  1.])
    """
    own = group[:, None] == group[None]
    mean = own / own.sum(1)
    less = kernel - mean @ kernel
    return less - less @ mean.T


def gradient_gram(source: Source, place: int | None = None) -> Float[np.ndarray, "events events"]:
    """Inner products of the gradients of all training events at a checkpoint, by default the last."""
    end = source.trajectory.load(len(source.trajectory) - 1 if place is None else place)
    losses = TiedLosses.of(source.losses, end)
    at = losses.parameters(losses.tensors(end))
    leaves = {name: value.detach().requires_grad_() for name, value in at.items()}
    examples, rows = source.examples(), []
    for place in range(len(examples)):
        own = losses(leaves, examples[place : place + 1])
        each = torch.eye(len(own), dtype=own.dtype, device=own.device)
        found = torch.autograd.grad(
            own, list(leaves.values()), each, is_grads_batched=True, materialize_grads=True
        )
        rows.append(torch.cat([one.flatten(1) for one in found], 1))
    gradients = torch.cat(rows)
    return (gradients @ gradients.T).double().cpu().numpy()


def drawn_sets(sets: Sets, most: int, rng: np.random.Generator) -> Bool[np.ndarray, "drawn events"]:
    """At most `number` of the sets, drawn at random, in their original order."""
    return sets[np.sort(rng.permutation(len(sets))[:most])]
