"""Measures how much of a target function a network computes on a panel (paper, appendix B).

Predictions are expectations m = 2p − 1 of the label ±1. The functional coefficient is the slope of m against
the centred target; a network that only knows the marginal of a biased target (a NAND is true 3/4 of the time)
has coefficient zero, a perfect one has one.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.models.mlp import TaskMLP
from quantascope.tasks.hsp.panel import Panel

_ROWS_AT_ONCE = 512  # activations of a chunk stay in cache


def functional_coefficient(
    prediction: Float[Tensor, "tasks inputs"], target: Float[Tensor, "tasks inputs"]
) -> Float[Tensor, " tasks"]:
    """mean[m (y − ȳ)] / mean[(y − ȳ)²] of each task.

    >>> target = torch.tensor([[1.0, 1.0, 1.0, -1.0]])
    >>> functional_coefficient(target, target), functional_coefficient(torch.full((1, 4), 0.5), target)
    (tensor([1.]), tensor([0.]))
    """
    centred = target - target.mean(1, keepdim=True)
    return (prediction * centred).mean(1) / centred.square().mean(1)


def mode_fraction(
    prediction: Float[Tensor, "tasks inputs"],
    target: Float[Tensor, "tasks inputs"],
    characters: Float[Tensor, "tasks levels inputs"],
) -> Float[Tensor, "tasks levels"]:
    """Walsh coefficient of the prediction on each local parity, as a fraction of the target's own.

    Zero where the target has none, which on a balanced panel is beyond the end of a task's path.
    """
    own = (target[:, None, :] * characters).mean(2)
    learned = (prediction[:, None, :] * characters).mean(2)
    return torch.where(own.abs() > 1e-6, learned / own, 0)


@torch.no_grad()
def evaluate_panel(model: TaskMLP, panel: Panel) -> dict[str, Tensor]:
    """Held-out loss in bits, functional coefficient, exactness and modes of every task."""
    tasks, inputs = panel.target.shape
    step = max(1, _ROWS_AT_ONCE // inputs)
    parts = []
    for first in range(0, tasks, step):
        rows = slice(first, min(first + step, tasks))
        signs = panel.signs[rows].reshape(-1, panel.signs.shape[-1])
        identity = torch.arange(rows.start, rows.stop, device=signs.device).repeat_interleave(inputs)
        logits = model(signs, identity).view(-1, inputs, 2)
        parts.append(logits[..., 1] - logits[..., 0])
    margin = torch.cat(parts)
    prediction = torch.tanh(margin / 2)
    return {
        "loss": torch.nn.functional.softplus(-margin * panel.target).mean(1) / math.log(2),
        "coefficient": functional_coefficient(prediction, panel.target),
        "exact": (margin * panel.target > 0).all(1),
        "modes": mode_fraction(prediction, panel.target, panel.characters),
    }
