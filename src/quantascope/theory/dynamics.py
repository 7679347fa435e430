"""Q-dynamics of section 3: which quantum comes next, and when, from a poset, demand p and complexity κ.

Two clocks read the priority ω_q(I) = p_q / κ_q(I) of the frontier quanta.
`sequential` is the paper's Φ_Q(I) = I ∪ {argmax ω_q(I)}: one acquisition after another, each lasting κ/p.
`parallel` lets every accessible quantum progress at rate ω_q(I) at once, and acquires it at progress 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import _require
from quantascope.theory.complexity import Complexity
from quantascope.theory.poset import Poset


@dataclass(frozen=True, eq=False)
class Acquisitions:
    """The result of a clock: the quanta in order of acquisition, with their times τ_q and priorities then."""

    order: Int[np.ndarray, " quanta"]
    time: Float[np.ndarray, " quanta"]
    priority_at_acquisition: Float[np.ndarray, " quanta"]

    def __post_init__(self) -> None:
        time = _require.nonnegative("acquisition time", self.time)
        _require.positive("priority", self.priority_at_acquisition, time.size)
        if not np.array_equal(np.sort(self.order), np.arange(time.size)):
            raise InvalidConfig(f"the order of {time.size} quanta is {self.order}; name each quantum once")
        backward = np.flatnonzero(np.diff(time[self.order]) < 0)
        if backward.size:
            early = self.order[backward[0] + 1]
            raise InvalidConfig(
                f"quantum {early} at time {float(time[early])!r} comes after a later one in the order; "
                "sort the order by time"
            )

    def acquired_by(self, t: float) -> Bool[np.ndarray, " quanta"]:
        """I_t = {q : τ_q ≤ t}."""
        return self.time <= t


def sequential(
    poset: Poset, demand: Float[np.ndarray, " quanta"] | Sequence[float], complexity: Complexity
) -> Acquisitions:
    """Φ_Q: acquire the frontier quantum of largest priority, the lowest index among equals.

    >>> from quantascope.theory import ConstantComplexity, Poset
    >>> run = sequential(Poset.from_edges(3, [(0, 1)]), [0.25, 1.0, 0.5], ConstantComplexity([1.0, 1.0, 1.0]))
    >>> run.order.tolist(), run.time.tolist()
    ([2, 0, 1], [6.0, 7.0, 2.0])
    """
    run = _Run(poset, demand, complexity)
    heap = [(-run.meet(q), q) for q in run.accessible()]
    heapify(heap)
    now = 0.0
    while heap:
        negative, q = heappop(heap)
        if run.done[q] or -negative != run.priority[q]:
            continue
        now += run.duration(q)
        for released in run.acquire(q, now):
            heappush(heap, (-run.meet(released), released))
        for changed in run.reconsidered(q):
            heappush(heap, (-run.meet(changed), changed))
    return run.finished()


def parallel(
    poset: Poset, demand: Float[np.ndarray, " quanta"] | Sequence[float], complexity: Complexity
) -> Acquisitions:
    """All accessible quanta advance at once; quanta that finish together are ordered by index.

    A quantum starts from nothing when it becomes accessible. When an acquisition changes its κ, the progress
    made so far is kept and the rest goes at the new rate. Its recorded priority is the rate it ended with.

    >>> from quantascope.theory import ConstantComplexity, Poset
    >>> run = parallel(Poset.from_edges(3, [(0, 1)]), [0.25, 1.0, 0.5], ConstantComplexity([1.0, 1.0, 1.0]))
    >>> run.order.tolist(), run.time.tolist()
    ([2, 0, 1], [4.0, 5.0, 2.0])
    """
    run = _Run(poset, demand, complexity)
    due = [0.0] * poset.size
    heap = []
    for q in run.accessible():
        run.meet(q)
        due[q] = run.duration(q)
        heap.append((due[q], q))
    heapify(heap)
    while heap:
        now, q = heappop(heap)
        if run.done[q] or now != due[q]:
            continue
        for released in run.acquire(q, now):
            run.meet(released)
            due[released] = now + run.duration(released)
            heappush(heap, (due[released], released))
        for changed in run.reconsidered(q):
            # One that is due at this very moment is complete: its rate no longer matters.
            if due[changed] > now:
                before = run.duration(changed)
                run.meet(changed)
                if run.duration(changed) != before:
                    due[changed] = now + (due[changed] - now) / before * run.duration(changed)
                    heappush(heap, (due[changed], changed))
    return run.finished()


@no_type_check  # called once per quantum: the tests' runtime checks would be nearly all of its time
class _Run:
    """The state that both clocks share. Plain lists: a million reads of them cost a tenth of numpy's."""

    def __init__(
        self, poset: Poset, demand: Float[np.ndarray, " quanta"] | Sequence[float], complexity: Complexity
    ) -> None:
        _check_size(poset, complexity)
        self.complexity = complexity
        self.demand = _require.positive("demand", demand, poset.size).tolist()
        self.start, self.target = poset.successor.start.tolist(), poset.successor.target.tolist()
        self.lacking = np.diff(poset.predecessor.start).tolist()
        self.acquired = np.zeros(poset.size, dtype=bool)
        self.done = [False] * poset.size
        self.kappa = [0.0] * poset.size
        self.priority = [0.0] * poset.size  # zero: not accessible yet
        self.time = [0.0] * poset.size
        self.order: list[int] = []

    def accessible(self) -> list[int]:
        return [q for q, lacking in enumerate(self.lacking) if lacking == 0]

    def meet(self, quantum: int) -> float:
        """Evaluate and remember the priority of an accessible quantum in the present state."""
        self.kappa[quantum] = kappa = self.complexity.of(quantum, self.acquired)
        _check_kappa(quantum, kappa)
        self.priority[quantum] = omega = self.demand[quantum] / kappa
        return omega

    def duration(self, quantum: int) -> float:
        """κ/p as last evaluated: the time from nothing to acquired."""
        return self.kappa[quantum] / self.demand[quantum]

    def acquire(self, quantum: int, now: float) -> list[int]:
        """Record the acquisition; the quanta that it makes accessible."""
        self.acquired[quantum] = self.done[quantum] = True
        self.time[quantum] = now
        self.order.append(quantum)
        released = []
        for edge in range(self.start[quantum], self.start[quantum + 1]):
            successor = self.target[edge]
            self.lacking[successor] -= 1
            if self.lacking[successor] == 0:
                released.append(successor)
        return released

    def reconsidered(self, quantum: int) -> list[int]:
        """Accessible quanta, not acquired yet, whose κ the acquisition of `quantum` may have changed."""
        return [d for d in self.complexity.dependents(quantum) if not self.done[d] and self.priority[d] > 0]

    def finished(self) -> Acquisitions:
        return Acquisitions(np.array(self.order), np.array(self.time), np.array(self.priority))


@no_type_check
def _check_kappa(quantum: int, kappa: float) -> None:
    if not 0 < kappa < np.inf:
        raise InvalidConfig(f"the complexity of quantum {quantum} is {kappa!r}; make it finite, above zero")


def _check_size(poset: Poset, complexity: Complexity) -> None:
    # Not part of the protocol: a rule may hold for any number of quanta.
    size = getattr(complexity, "size", poset.size)
    if size != poset.size:
        raise InvalidConfig(f"the complexity covers {size} quanta, the poset {poset.size}; make them equal")


def example_priority(
    poset: Poset,
    demand: Float[np.ndarray, " quanta"] | Sequence[float],
    complexity: Complexity,
    acquisitions: Acquisitions,
    requires: Bool[np.ndarray, "examples quanta"] | sparse.sparray | sparse.spmatrix,
    t: float,
) -> Float[np.ndarray, " examples"]:
    """P(x, t) = Σ_{q ∈ A(x) ∩ F(I_t)} ω_q(I_t) for every example, A(x) being its row of `requires`.

    >>> from quantascope.theory import ConstantComplexity, Poset
    >>> poset, kappa = Poset.from_edges(3, [(0, 1)]), ConstantComplexity([1.0, 1.0, 1.0])
    >>> demand = [0.25, 1.0, 0.5]
    >>> requires = np.array([[True, True, True], [False, True, False]])
    >>> run = parallel(poset, demand, kappa)
    >>> example_priority(poset, demand, kappa, run, requires, 0.0).tolist()
    [0.75, 0.0]
    >>> example_priority(poset, demand, kappa, run, requires, 4.0).tolist()
    [1.0, 1.0]
    """
    _check_size(poset, complexity)
    p = _require.positive("demand", demand, poset.size)
    acquired = acquisitions.acquired_by(t)
    omega = np.zeros(poset.size)
    for q in poset.frontier(acquired).tolist():
        kappa = complexity.of(q, acquired)
        _check_kappa(q, kappa)
        omega[q] = p[q] / kappa
    examples, example, quantum = _required_pairs(requires, poset.size)
    priority = np.zeros(examples)
    np.add.at(priority, example, omega[quantum])
    return priority


def _required_pairs(
    requires: Bool[np.ndarray, "examples quanta"] | sparse.sparray | sparse.spmatrix, size: int
) -> tuple[int, Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """The number of examples, and the pairs (example, quantum) where the one requires the other."""
    shape = tuple(requires.shape)  # pyright: ignore[reportAttributeAccessIssue]  scipy declares it on the leaves
    if len(shape) != 2 or shape[1] != size:
        raise InvalidConfig(f"requires has shape {shape}; give one row per example and {size} columns")
    return shape[0], *sparse.csr_array(requires).nonzero()
