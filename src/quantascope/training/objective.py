"""Objectives that the training loop minimises.

An objective is called with the model, a batch and the step; it writes the gradient to `.grad` and returns its
named terms, whose sum is the loss. `Objective` does this for any model by autograd: one forward pass and any
number of terms computed from it. A model with a custom gradient supplies another callable.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

Term = Callable[[Any, Any, int], Tensor]
"""A scalar from the model's output, the batch and the step."""


GradientOf = Callable[[Any, Any, int], Mapping[str, Tensor]]
"""Protocol of an objective: replaces the gradient in `.grad` and returns the terms of the loss."""


@dataclass(frozen=True)
class Objective:
    """A forward pass and the terms computed from its output.

    >>> objective = Objective(
    ...     forward=lambda model, batch: model(batch[0]),
    ...     terms={"square": lambda output, batch, step: (output - batch[1]).square().mean()},
    ... ).plus(small=lambda output, batch, step: 0.1 * output.abs().mean())
    >>> model, batch = nn.Linear(1, 1), (torch.ones(2, 1), torch.zeros(2, 1))
    >>> sorted(objective(model, batch, step=0))
    ['small', 'square']
    """

    forward: Callable[[Any, Any], Any]
    terms: Mapping[str, Term]

    def plus(self, **terms: Term) -> "Objective":
        """The same objective with further terms."""
        return replace(self, terms={**self.terms, **terms})

    def __call__(self, model: nn.Module, batch: Any, step: int) -> Mapping[str, Tensor]:
        model.zero_grad()
        output = self.forward(model, batch)
        values = {name: term(output, batch, step) for name, term in self.terms.items()}
        torch.stack(list(values.values())).sum().backward()
        return {name: value.detach() for name, value in values.items()}
