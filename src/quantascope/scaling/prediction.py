"""The loss of a finite forest as predicted by Q-dynamics, without a free exponent.

A learner that has acquired K functions still misses the others, each of which costs its query probability times
the entropy of its label. Which K they are is the simulator's answer: in the *compositional* order a function needs
its parent and counts for all queries below it; in the *direct* order every function stands for itself.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.tasks.hsp import Forest
from quantascope.theory import ConstantComplexity, Poset, closure_from_query, initial_loss, sequential


def compositional_order(forest: Forest) -> Int[np.ndarray, " nodes"]:
    """Φ_Q over the forest's own poset with closure demand and equal complexities: the paper's mechanism."""
    closure = closure_from_query(forest.parent, forest.query)
    equal = ConstantComplexity(np.ones(len(closure)))
    return sequential(Poset.forest(forest.parent), closure, equal).order


def direct_order(forest: Forest) -> Int[np.ndarray, " nodes"]:
    """Φ_Q over unrelated functions whose demand is their query probability: shortcuts only."""
    equal = ConstantComplexity(np.ones(len(forest.query)))
    return sequential(Poset.antichain(len(forest.query)), forest.query, equal).order


def missing_cost(forest: Forest) -> Float[np.ndarray, " nodes"]:
    """Expected cost in bits of each function while it is not acquired."""
    entropy = np.array([initial_loss(depth) for depth in range(int(forest.depth.max()) + 1)])
    return forest.query * entropy[forest.depth]


def loss_after(
    forest: Forest, order: Int[np.ndarray, " nodes"], counts: Float[np.ndarray, "*points"]
) -> Float[np.ndarray, "*points"]:
    """Loss in bits after the first K functions of an order, linear between whole K."""
    cost = missing_cost(forest)[order]
    unmet = np.append(np.cumsum(cost[::-1])[::-1], 0.0)
    return np.interp(counts, np.arange(len(unmet)), unmet)


def reconstructed(forest: Forest, acquired: Bool[np.ndarray, "*points tasks"]) -> Float[np.ndarray, "*points"]:
    """Loss in bits of the functions that were actually not acquired."""
    return (~acquired).astype(float) @ missing_cost(forest)[forest.tasks]


def fractional(forest: Forest, coefficient: Float[np.ndarray, "*points tasks"]) -> Float[np.ndarray, "*points"]:
    """The same if a function counts by its functional coefficient, between none and all of it."""
    return (1 - np.clip(coefficient.astype(float), 0, 1)) @ missing_cost(forest)[forest.tasks]
