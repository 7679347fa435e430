"""Per-event losses as a function of parameters: all that the priority field asks of a model.

Any function from named parameters and a batch to one loss per event will do. `ModuleLosses` makes one from an
`nn.Module`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from quantascope.errors import DamagedArtefact
from quantascope.tasks.events import Events

EventLosses = Callable[[Mapping[str, Tensor], Any], Tensor]
"""One loss per event from named parameters and a batch."""


@runtime_checkable
class Examples(Protocol):
    """Examples that are cut in ranges; each holds one or more events."""

    def __len__(self) -> int: ...

    def __getitem__(self, examples: slice, /) -> Any: ...


@dataclass(frozen=True)
class ModuleLosses:
    """Per-event losses of a module in evaluation mode; by default cross-entropy on `Events`.

    >>> import torch
    >>> model = nn.Linear(2, 1)
    >>> square = ModuleLosses(model, lambda model, batch: model(batch).squeeze(1).square())
    >>> square(dict(model.state_dict()), torch.zeros(3, 2)).shape
    torch.Size([3])
    """

    module: nn.Module
    losses: Callable[[Any, Any], Tensor] | None = None

    def __call__(self, parameters: Mapping[str, Tensor], batch: Any) -> Float[Tensor, " events"]:
        self._check(parameters)
        asked = _Asking(self.module, self.losses or event_cross_entropy)
        own = [name for name, _ in self.module.named_parameters()]  # a tied tensor is there once
        return functional_call(asked, {f"module.{name}": parameters[name] for name in own}, (batch,))

    def _check(self, parameters: Mapping[str, Tensor]) -> None:
        for name, parameter in self.module.named_parameters():
            found = parameters.get(name)
            if found is None or found.shape != parameter.shape:
                state = "missing" if found is None else f"of shape {list(found.shape)}"
                raise DamagedArtefact(
                    f"tensor '{name}' is {state}; this model needs shape {list(parameter.shape)}: "
                    "the checkpoint is of another architecture"
                )


class _Asking(nn.Module):
    """A module whose forward pass is the losses, so that parameters are replaced in all of it."""

    def __init__(self, module: nn.Module, losses: Callable[[Any, Any], Tensor]) -> None:
        super().__init__()
        self.module, self.losses = module, losses

    def forward(self, batch: Any) -> Tensor:
        return self.losses(self.module, batch)


def event_cross_entropy(model: Callable[[Events], Tensor], events: Events) -> Float[Tensor, " events"]:
    """Cross-entropy of every event, in nats."""
    return nn.functional.cross_entropy(model(events), events.target, reduction="none")
