"""Event losses at one point and their derivatives along any directions, all events at once.

    w           a weight for every event, all one
    g = Jᵀw     the gradient of the weighted sum of losses: one forward and one backward pass
    Jv          the gradient of <g, v> by w: one backward pass through the first, for each direction v

J is the matrix of event gradients, which is never made. The forward pass, the losses and the population gradient
are shared by all directions, and a direction of late layers costs no more than the way from there to the losses.
Every kernel of the model must have a second derivative; `Differences` is the form for those that have none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.discovery.layer_norm import QuickLayerNorm
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import EventLosses

Parameters = dict[str, Tensor]
Answer = TypeVar("Answer")
Derivatives = Literal["backward", "differences"]
"""How derivatives along directions are found: by a second backward pass, or by differences of forward passes."""

_NO_SECOND_DERIVATIVE = ("is not implemented", "once_differentiable", "double backward")
"""What torch says of a fused kernel, of a function that was declared so, and of a compiled one."""
_REMEDY = (
    ': the model has a fused kernel that cannot be differentiated twice; use derivatives="differences", or the '
    'kernel\'s plain form, as attn_implementation="eager" does'
)


class NotTwiceDifferentiable(InvalidConfig):
    """A model with a kernel that has no second derivative."""


class _Piece:
    """The losses of one batch, and the graph of their gradient by the events' weights."""

    def __init__(self, event_losses: EventLosses, at: Mapping[str, Tensor], batch: Any) -> None:
        leaves = {name: value.detach().requires_grad_() for name, value in at.items()}
        with QuickLayerNorm():
            losses = event_losses(leaves, batch)
        self.losses = losses.detach()
        self._weights = torch.ones_like(losses, requires_grad=True)
        found = torch.autograd.grad(
            losses, list(leaves.values()), self._weights, create_graph=True, allow_unused=True
        )
        self._gradient = {name: one for name, one in zip(leaves, found, strict=True) if one is not None}

    @property
    def gradient(self) -> Parameters:
        """The summed gradient of all events, of the parameters that they depend on."""
        return {name: one.detach() for name, one in self._gradient.items()}

    def along(self, direction: Mapping[str, Tensor]) -> Float[Tensor, " events"]:
        """The derivative of every loss along a direction."""
        names = [name for name in direction if name in self._gradient and self._gradient[name].requires_grad]
        if not names:
            return torch.zeros_like(self.losses)
        gradients = [self._gradient[name] for name in names]
        ways = [direction[name] for name in names]
        try:
            return torch.autograd.grad(gradients, self._weights, ways, retain_graph=True, materialize_grads=True)[
                0
            ]
        except RuntimeError as error:
            if not any(said in str(error) for said in _NO_SECOND_DERIVATIVE):
                raise
            raise NotTwiceDifferentiable(str(error).splitlines()[0] + _REMEDY) from None


@dataclass(frozen=True, eq=False)
class Linearized:
    """The event losses of a batch, given in pieces, at given parameters; one piece is in memory at a time.

    >>> at, batch = {"slope": torch.tensor(3.0)}, torch.tensor([1.0, 2.0])
    >>> here = Linearized(lambda at, batch: (at["slope"] * batch).square(), at, [batch])
    >>> here.gradient()
    {'slope': tensor(15.)}
    >>> losses, derivatives = here.along([{"slope": torch.tensor(1.0)}])
    >>> losses, derivatives
    (tensor([ 9., 36.]), tensor([[ 6., 24.]]))
    """

    event_losses: EventLosses
    at: Parameters
    pieces: Sequence[Any]

    def gradient(self) -> Parameters:
        """Gradient of the mean loss; zero for a parameter that no loss depends on."""
        total = {name: torch.zeros_like(value) for name, value in self.at.items()}

        def add(piece: _Piece) -> int:
            for name, one in piece.gradient.items():
                total[name] += one
            return len(piece.losses)

        count = sum(self._ask(add))
        return {name: value / count for name, value in total.items()}

    def along(
        self, directions: Sequence[Mapping[str, Tensor]]
    ) -> tuple[Float[Tensor, " events"], Float[Tensor, "directions events"]]:
        """The losses, and their derivatives along each direction; parameters that it does not name stay."""
        answers = self._ask(
            lambda piece: (piece.losses, torch.stack([piece.along(direction) for direction in directions]))
        )
        losses, derivatives = zip(*answers, strict=True)
        return torch.cat(losses), torch.cat(derivatives, 1)

    def derivatives(self, directions: Sequence[Mapping[str, Tensor]]) -> Float[Tensor, "directions events"]:
        """The derivatives along each direction alone."""
        return self.along(directions)[1]

    def check(self) -> None:
        """Refuse a model whose gradient does not say all of what it depends on.

        The derivatives of all events along the mean gradient g sum to n |g|², whatever the model is. A kernel that
        returns a gradient without a graph makes them less, and raises no error.
        """
        gradient = self.gradient()
        found = self.derivatives([gradient])[0].cpu().double()
        expected = len(found) * sum(float(one.cpu().double().square().sum()) for one in gradient.values())
        if abs(float(found.sum()) - expected) > 0.01 * max(float(found.abs().sum()), expected):
            raise NotTwiceDifferentiable("a second backward pass misses part of the gradient" + _REMEDY)

    def _ask(self, question: Callable[[_Piece], Answer]) -> list[Answer]:
        if len(self.pieces) == 1:
            return [question(self._whole)]
        return [question(_Piece(self.event_losses, self.at, batch)) for batch in self.pieces]

    @cached_property
    def _whole(self) -> _Piece:
        return _Piece(self.event_losses, self.at, self.pieces[0])
