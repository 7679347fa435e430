"""The aggregate loss rebuilt from acquisition times alone (paper, section 4.2, figure 3; appendix B).

Each task that is not acquired costs the entropy of its label, H₂ of the probability that a NAND path of its
depth is true. In the direct basis a task is acquired when its own coefficient is high; in the ancestor-closed
basis only when the whole path is acquired. The two agree if parents come first and differ if children do.
"""

import numpy as np
from jaxtyping import Float, Int

from quantascope.tasks.hsp.forest import Forest
from quantascope.theory import initial_loss


def reconstructed_loss(
    forest: Forest,
    acquired_step: Float[np.ndarray, " nodes"],
    evaluated: Int[np.ndarray, " evaluations"],
    *,
    closed: bool,
) -> Float[np.ndarray, " evaluations"]:
    """Σ π_v H(depth of v) [v is not acquired], in bits, at each evaluated step."""
    step = closed_step(forest, acquired_step) if closed else _infinite_if_never(acquired_step)
    weight = forest.query * np.array([initial_loss(int(depth)) for depth in forest.depth])
    return (evaluated[:, None] < step[None, :]).astype(float) @ weight


def closed_step(forest: Forest, acquired_step: Float[np.ndarray, " nodes"]) -> Float[np.ndarray, " nodes"]:
    """The step from which a node and all its ancestors are acquired; infinite if never."""
    step = _infinite_if_never(acquired_step)
    for node, above in enumerate(forest.parent.tolist()):
        if above >= 0:
            step[node] = max(step[node], step[above])
    return step


def _infinite_if_never(step: Float[np.ndarray, " nodes"]) -> Float[np.ndarray, " nodes"]:
    return np.where(np.isnan(step), np.inf, step)
