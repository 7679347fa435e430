"""Event losses at one point and their derivatives along any directions, all events at once.

    w           a weight for every event, all one
    g = Jᵀw     the gradient of the weighted sum of losses: one forward and one backward pass
    Jv          the gradient of <g, v> by w: one backward pass through the first, for each direction v

J is the matrix of event gradients, which is never built. All directions share the forward pass, the losses and the
population gradient, and a direction in late layers costs only the path from there to the losses. Every kernel of
the model must have a second derivative; otherwise use `Differences`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.discovery.quick_derivatives import QuickDerivatives
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import EventLosses

Parameters = dict[str, Tensor]
Answer = TypeVar("Answer")
Derivatives = Literal["backward", "differences"]
"""Form of the derivatives along directions: by a second backward pass, or by differences of forward passes."""

_NO_SECOND_DERIVATIVE = ("is not implemented", "once_differentiable", "double backward")
"""Parts of torch's error messages for a fused kernel, a once-differentiable function and a compiled one."""
_REMEDY = (
    ': the model has a fused kernel that cannot be differentiated twice; use derivatives="differences", or the '
    'kernel\'s plain form, as attn_implementation="eager" does'
)


class NotTwiceDifferentiable(InvalidConfig):
    """Raised for a model with a kernel that has no second derivative."""


class _Piece:
    """The losses of one batch, and the graph of their gradient with respect to event weights."""

    def __init__(self, event_losses: EventLosses, at: Mapping[str, Tensor], batch: Any) -> None:
        leaves = {name: value.detach().requires_grad_() for name, value in at.items()}
        with QuickDerivatives():
            losses = event_losses(leaves, batch)
        self.losses = losses.detach()
        self._weights = torch.ones_like(losses, requires_grad=True)
        found = torch.autograd.grad(
            losses, list(leaves.values()), self._weights, create_graph=True, allow_unused=True
        )
        self._gradient = {name: one for name, one in zip(leaves, found, strict=True) if one is not None}

    @property
    def gradient(self) -> Parameters:
        """The gradient of the summed event losses, for the parameters that they depend on."""
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
        """The losses and their derivatives along each direction; parameters that a direction omits stay fixed."""
        answers = self._ask(
            lambda piece: (piece.losses, torch.stack([piece.along(direction) for direction in directions]))
        )
        losses, derivatives = zip(*answers, strict=True)
        return torch.cat(losses), torch.cat(derivatives, 1)

    def derivatives(self, directions: Sequence[Mapping[str, Tensor]]) -> Float[Tensor, "directions events"]:
        """Only the derivatives along each direction."""
        return self.along(directions)[1]

    def check(self) -> None:
        """Raise if the second backward pass misses part of the gradient.

        For every model, the derivatives of all events along the mean gradient g sum to n |g|². A kernel that
        returns a gradient without a graph makes the sum smaller without raising an error.
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
