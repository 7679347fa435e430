"""Conditional losses B_x(S) and staircases ℓ_x(t) ≃ B_x(I_t ∩ A(x)) (appendix "Conditional-Loss Staircases").

A composed task is a Boolean function f of independent balanced inputs. With only the inputs in S available,
the best attainable cross-entropy is B(S) = E[H₂(P(f = 1 | inputs in S))] bits.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import _require
from quantascope.theory._require import Numbers

LARGEST_ARITY = 20


def binary_entropy(p: Numbers) -> Float[np.ndarray, "..."]:
    """H₂(p) in bits, exactly 0 at 0 and 1 and exactly 1 at 1/2.

    >>> binary_entropy([0.0, 0.5, 1.0]).tolist()
    [0.0, 1.0, 0.0]
    """
    p = np.asarray(p, dtype=np.float64)
    inside = (p >= 0) & (p <= 1)
    if not inside.all():
        raise InvalidConfig(f"the probability {p[~inside].flat[0]} is impossible; give numbers from 0 to 1")
    both = np.stack([p, 1 - p])
    # log₂ 1 = 0 stands in where p = 0, whose limit is 0 as well.
    return np.asarray((both * -np.log2(np.where(both > 0, both, 1.0))).sum(axis=0))


@dataclass(frozen=True, eq=False)
class ConditionalLosses:
    """B(S) of one Boolean function, from its truth table with one axis of length 2 per input."""

    truth: Bool[np.ndarray, "..."]

    def __post_init__(self) -> None:
        if self.truth.dtype != np.bool_ or set(self.truth.shape) - {2}:
            raise InvalidConfig(
                f"the truth table has type {self.truth.dtype} and shape {self.truth.shape}; "
                "give Booleans with one axis of length 2 per input"
            )

    @property
    def arity(self) -> int:
        return self.truth.ndim

    def loss(self, available: Iterable[int]) -> float:
        """B(S) in bits when the inputs in `available` are known."""
        known = frozenset(available)
        if known - set(range(self.arity)):
            raise InvalidConfig(f"the inputs {sorted(known)} are not all known; use 0 to {self.arity - 1}")
        averaged = tuple(axis for axis in range(self.arity) if axis not in known)
        return float(binary_entropy(self.truth.mean(axis=averaged)).mean())

    def levels(self) -> dict[frozenset[int], float]:
        """B(S) for every S, from the empty set to all inputs."""
        sizes = range(self.arity + 1)
        subsets = (frozenset(chosen) for size in sizes for chosen in combinations(range(self.arity), size))
        return {subset: self.loss(subset) for subset in subsets}


def conditional_losses(function: Callable[..., Bool[np.ndarray, " rows"] | bool], arity: int) -> ConditionalLosses:
    """B(S) of a function of `arity` Boolean columns, written with the operators & | ^ ~.

    >>> nand = conditional_losses(lambda a, b: ~(a & b), 2)
    >>> round(nand.loss([]), 4), nand.loss([0]), nand.loss([0, 1])
    (0.8113, 0.5, 0.0)
    """
    if _require.whole("arity", arity, least=0) > LARGEST_ARITY:
        raise InvalidConfig(f"a truth table of {arity} inputs is too large; use at most {LARGEST_ARITY}")
    columns = [column.ravel() for column in np.indices((2,) * arity).astype(bool)]
    try:
        value = np.asarray(function(*columns))
    except ValueError as error:
        raise InvalidConfig(
            f"{function!r} failed on Boolean columns; write it with & | ^ ~ or wrap it in np.vectorize"
        ) from error
    if value.dtype != np.bool_:
        raise InvalidConfig(f"{function!r} returns {value.dtype}; return Booleans, with ~ in place of 1 - x")
    return ConditionalLosses(np.broadcast_to(value, (2**arity,)).reshape((2,) * arity))


def staircase(
    losses: ConditionalLosses, times: Float[np.ndarray, " inputs"] | Sequence[float], t: Numbers
) -> Float[np.ndarray, " times"]:
    """Predicted ℓ(t): B of the inputs acquired by t. `times` holds τ per input, infinity for never.

    >>> nand = conditional_losses(lambda private, shared: ~(private & shared), 2)
    >>> staircase(nand, [750.0, 12550.0], [750.0, 12549.0, 12550.0]).tolist()
    [0.5, 0.5, 0.0]
    """
    tau = np.asarray(times, dtype=np.float64)
    if tau.shape != (losses.arity,) or np.isnan(tau).any():
        raise InvalidConfig(f"the acquisition times are {tau}; give {losses.arity} numbers, inf for never")
    order = np.argsort(tau, kind="stable")
    levels = np.array([losses.loss(order[:count].tolist()) for count in range(losses.arity + 1)])
    return levels[np.searchsorted(tau[order], np.atleast_1d(t), side="right")]


def nand_path(depth: int) -> Callable[..., Bool[np.ndarray, " rows"]]:
    """The function that an HSP node at `depth` computes of its depth + 1 local parities, root first.

    y = z_0 at the root, then y = NAND(y, z_i) down the path.

    >>> conditional_losses(nand_path(1), 2).truth.tolist()
    [[True, True], [True, False]]
    """
    inputs = _require.whole("depth", depth, least=0) + 1

    def node(*parities: Bool[np.ndarray, " rows"]) -> Bool[np.ndarray, " rows"]:
        if len(parities) != inputs:
            raise InvalidConfig(f"a node at depth {depth} got {len(parities)} parities; give {inputs}")
        output = parities[0]
        for parity in parities[1:]:
            output = ~(output & parity)
        return output

    return node


def nand_probability(depth: int) -> float:
    """P(y = 1) of an HSP node: 1/2 at a root, then p → 1 − p/2.

    >>> [nand_probability(depth) for depth in range(4)]
    [0.5, 0.75, 0.625, 0.6875]
    """
    p = 0.5
    for _ in range(_require.whole("depth", depth, least=0)):
        p = 1 - p / 2
    return p


def initial_loss(depth: int) -> float:
    """ℓ⁽⁰⁾ = H₂(P(y = 1)): bits of an HSP node's target with nothing acquired.

    >>> initial_loss(0), round(initial_loss(1), 4)
    (1.0, 0.8113)
    """
    return float(binary_entropy(nand_probability(depth)))
