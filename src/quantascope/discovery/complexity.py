"""Packet complexity: the number of parts of an MLP that carry a factor (paper, section 5.2; appendix G.3).

The packet of a factor is the network's own update, averaged over the intervals with the factor's normalised curve
as weights. Its complexity is the effective number of groups that carry it, κ = (Σ E)² / Σ E² over the squared
norms E of the packet within each group. The groups of an MLP are its hidden units (incoming row, bias, outgoing
column) and one for the output bias. κ is only a proxy for the theory's parent-conditioned complexity.
"""

import numpy as np
from jaxtyping import Float, Int

from quantascope.runs.errors import InvalidConfig


def packet_complexity(
    curves: Float[np.ndarray, "factors intervals"],
    updates: Float[np.ndarray, "intervals parameters"],
    groups: Int[np.ndarray, " parameters"],
) -> Float[np.ndarray, " factors"]:
    """κ of each factor, from the parameters' change in each interval and the group of each parameter.

    >>> updates = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    >>> packet_complexity(np.array([[5.0, 0.0], [0.0, 2.0]]), updates, np.array([0, 1, 2]))
    array([1., 2.])
    """
    weights = curves / curves.sum(1, keepdims=True)
    energy = (weights @ updates) ** 2
    return effective_groups(np.stack([np.bincount(groups, one) for one in energy]))


def effective_groups(energy: Float[np.ndarray, "factors groups"]) -> Float[np.ndarray, " factors"]:
    """(Σ E)² / Σ E²: one if a single group holds all energy, the number of groups if all hold the same.

    >>> effective_groups(np.array([[4.0, 0.0], [1.0, 1.0]]))
    array([1., 2.])
    """
    still = np.flatnonzero(~(energy > 0).any(1))
    if still.size:
        raise InvalidConfig(
            f"packet {still[0]} has no energy in any group; its parameters did not move while it was acquired"
        )
    share = energy / energy.max(1, keepdims=True)
    return share.sum(1) ** 2 / (share**2).sum(1)
