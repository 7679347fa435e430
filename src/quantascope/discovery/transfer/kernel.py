"""The first-order estimate of a change of weights, from checkpoints of the unweighted run alone.

Weights w change an update by −η Σ_a (w_a − 1) ∇L_a / N, and so lower the loss of event e by

    η Σ_a (w_a − 1) <∇L_a, ∇L_e> / N

to first order: a sum over the transfer kernel of events. At each checkpoint one backward pass per set gives the
direction, and one derivative along it gives the effect on every event at once. Effects are summed over the
intervals, weighted by learning-rate mass. The estimate neglects that a changed path changes later gradients.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.discovery.linearized import Linearized, Parameters
from quantascope.sources.losses import EventLosses, TiedLosses
from quantascope.training import Trajectory


def estimated_effects(
    trajectory: Trajectory,
    event_losses: EventLosses,
    examples: Any,
    weights: Sequence[Float[np.ndarray, " events"]],
) -> Float[np.ndarray, "weightings events"]:
    """The decrease of every event's loss under each weighting, averaged over training as in `effects`."""
    intervals = len(trajectory) - 1
    total = np.zeros((len(weights), len(weights[0])))
    for index in range(intervals):
        start = trajectory.load(index)
        losses = TiedLosses.of(event_losses, start)
        tensors = losses.tensors(start)
        at = losses.parameters(tensors)
        lowered = first_order_effects(losses.beside(tensors), at, examples, weights)
        later = (intervals - index) / (intervals + 1)  # the share of evaluations that come later
        total += float(trajectory.learning_rate_mass[index]) * later * lowered
    return total


def first_order_effects(
    event_losses: EventLosses,
    at: Mapping[str, Tensor],
    examples: Any,
    weights: Sequence[Float[np.ndarray, " events"]],
) -> Float[np.ndarray, "weightings events"]:
    """The rate at which each weighting lowers every loss, relative to even weights, per unit of learning rate."""
    leaves = {name: value.detach().requires_grad_() for name, value in at.items()}
    losses = event_losses(leaves, examples)
    directions = [_gradient(losses, leaves, own) for own in weights]
    return Linearized(event_losses, dict(at), [examples]).derivatives(directions).double().cpu().numpy()


def _gradient(losses: Tensor, leaves: Parameters, weights: Float[np.ndarray, " events"]) -> Parameters:
    beyond = torch.as_tensor((weights - 1) / len(weights), dtype=losses.dtype, device=losses.device)
    found = torch.autograd.grad(losses, list(leaves.values()), beyond, retain_graph=True, materialize_grads=True)
    return dict(zip(leaves, found, strict=True))
