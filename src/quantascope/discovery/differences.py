"""Derivatives of event losses along directions, by central differences of forward passes, without a graph.

    Jv ≈ (L(θ + hv) − L(θ − hv)) / 2h

This form replaces `Linearized` where a kernel, such as fused attention, has no second derivative. It needs less
memory and is less exact. The rounding error is about ε |L| / h and the truncation error about h²; they are equal
where the losses change by about ε^(1/3) of their size. The step h is therefore chosen for each direction by the
change that it causes. In float32 the largest error is then about 2e-4 of the largest derivative.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.discovery.linearized import Parameters
from quantascope.sources.losses import EventLosses

_LEAST, _MOST = 1 / 8, 3.0
"""Accepted range of the loss change of a step, in units of the best change."""
_ATTEMPTS = 5
"""Largest number of steps tried per direction; the first guess, from the norms, usually fits."""


@dataclass(frozen=True, eq=False)
class Differences:
    """The event losses of a batch, given in pieces, at given parameters, with the interface of `Linearized`.

    >>> at, batch = {"slope": torch.tensor(3.0)}, torch.tensor([1.0, 2.0])
    >>> here = Differences(lambda at, batch: (at["slope"] * batch).square(), at, [batch])
    >>> losses, derivatives = here.along([{"slope": torch.tensor(1.0)}])
    >>> losses, derivatives.round(decimals=2)
    (tensor([ 9., 36.]), tensor([[ 6., 24.]]))
    """

    event_losses: EventLosses
    at: Parameters
    pieces: Sequence[Any]
    sizes: dict[int, float] = field(default_factory=dict)
    """The step of each direction, by its index; the next point starts from these steps."""

    def gradient(self) -> Parameters:
        """Gradient of the mean loss by one backward pass; zero for a parameter that no loss depends on."""
        total = {name: torch.zeros_like(value) for name, value in self.at.items()}
        count = 0
        for piece in self.pieces:
            leaves = {name: value.detach().requires_grad_() for name, value in self.at.items()}
            losses = self.event_losses(leaves, piece)
            count += len(losses)
            found = torch.autograd.grad(losses.sum(), list(leaves.values()), allow_unused=True)
            for name, one in zip(leaves, found, strict=True):
                if one is not None:
                    total[name] += one
        return {name: value / count for name, value in total.items()}

    def along(
        self, directions: Sequence[Mapping[str, Tensor]]
    ) -> tuple[Float[Tensor, " events"], Float[Tensor, "directions events"]]:
        """The losses and their derivatives along each direction; parameters that a direction omits stay fixed."""
        return self._losses({}, 0.0), self.derivatives(directions)

    def derivatives(self, directions: Sequence[Mapping[str, Tensor]]) -> Float[Tensor, "directions events"]:
        """Only the derivatives along each direction, from two forward passes each."""
        rows = [
            self._derivative(direction, place) if _norm(direction.values()) else None
            for place, direction in enumerate(directions)
        ]
        present = next((row for row in rows if row is not None), None)
        zero = torch.zeros_like(self._losses({}, 0.0) if present is None else present)
        return torch.stack([zero if row is None else row for row in rows])

    def _derivative(self, direction: Mapping[str, Tensor], place: int) -> Float[Tensor, " events"]:
        """The derivatives along one direction, with a step that changes the losses by about the best amount."""
        precision = max(torch.finfo(value.dtype).eps for value in direction.values()) ** (1 / 3)
        length = _norm(direction.values())
        reach = (_norm(self.at[name] for name in direction) + length) / length
        # For a direction with almost no effect the step would grow forever.
        longest = 10 * precision * reach
        size = self.sizes[place] if place in self.sizes else precision * reach / 5
        derivative = torch.empty(0)
        for _ in range(_ATTEMPTS):
            ahead, behind = self._losses(direction, size), self._losses(direction, -size)
            derivative = (ahead - behind) / (2 * size)
            change = _change(ahead, behind) / max(precision, torch.finfo(ahead.dtype).eps ** (1 / 3))
            better = min(size / max(change, 0.01), longest)
            if _LEAST <= change <= _MOST or better == size or not math.isfinite(change):
                break
            size = better
        self.sizes[place] = size
        return derivative

    @torch.no_grad()
    def _losses(self, direction: Mapping[str, Tensor], size: float) -> Float[Tensor, " events"]:
        moved = {name: torch.add(self.at[name], value, alpha=size) for name, value in direction.items()}
        return torch.cat([self.event_losses({**self.at, **moved}, piece) for piece in self.pieces])


def _change(ahead: Float[Tensor, " events"], behind: Float[Tensor, " events"]) -> float:
    """The largest change of an event's loss, as a share of the largest loss."""
    scale = float(torch.maximum(ahead.abs(), behind.abs()).max())
    return float((ahead - behind).abs().max()) / scale if scale else 0.0


def _norm(tensors: Any) -> float:
    return math.hypot(*(float(torch.linalg.vector_norm(one)) for one in tensors))
