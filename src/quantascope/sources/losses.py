"""Per-event losses as a function of parameters: all that the priority field needs from a model.

Any function from named tensors and a batch to one loss per event works. `ModuleLosses` makes one from an
`nn.Module`. The field uses `TiedLosses`, in which a tensor with several names, such as tied embeddings, is one
tensor.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from quantascope.models.device import CPU, moved
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.tasks.events import Events
from quantascope.training.trajectory import shared_names

EventLosses = Callable[[Mapping[str, Tensor], Any], Tensor]
"""One loss per event from named tensors and a batch."""


def examples_digest(examples: Any) -> str | None:
    """A hash of examples that are made of tensors or arrays; None for examples of any other kind.

    >>> examples_digest(torch.zeros(2)) == examples_digest(torch.zeros(3)), examples_digest(["a text"])
    (False, None)
    """
    tensors = list(_tensors_of(examples))
    if not tensors or any(one is None for one in tensors):
        return None
    found = hashlib.sha256()
    for one in tensors:
        assert one is not None
        found.update(f"{one.dtype} {list(one.shape)} ".encode())
        found.update(one.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _tensors_of(examples: Any) -> Iterator[Tensor | None]:
    """The tensors in examples, in order, with None for each part that is not a tensor."""
    if isinstance(examples, Tensor):
        yield examples
    elif isinstance(examples, np.ndarray) and examples.dtype.kind in "biuf":
        yield torch.from_numpy(np.ascontiguousarray(examples))
    elif is_dataclass(examples):
        for part in fields(examples):
            yield from _tensors_of(getattr(examples, part.name))
    elif isinstance(examples, Sequence) and not isinstance(examples, str):
        for one in examples:
            yield from _tensors_of(one)
    else:
        yield None


@dataclass(frozen=True)
class ModuleLosses:
    """Per-event losses of a module in evaluation mode; by default cross-entropy on `Events`.

    The module is not changed and runs on the device of the given parameters. Buffers given with the parameters, as
    in a checkpoint, replace the module's own.

    >>> model = nn.Linear(2, 1)
    >>> square = ModuleLosses(model, lambda model, batch: model(batch).squeeze(1).square())
    >>> square(dict(model.state_dict()), torch.zeros(3, 2)).shape
    torch.Size([3])
    """

    module: nn.Module
    losses: Callable[[Any, Any], Tensor] | None = None

    def __post_init__(self) -> None:
        for name, part in self.module.named_modules():
            if isinstance(part, _BatchNorm) and part.running_mean is None:
                raise InvalidConfig(
                    f"'{name}' normalizes by its batch, so that an event has no loss of its own; "
                    "give it track_running_stats=True"
                )

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Aliases of tied tensors, with the main name of each."""
        parameters = self.module.named_parameters(remove_duplicate=False)
        tensors = chain(parameters, self.module.named_buffers(remove_duplicate=False))
        first: dict[int, str] = {}
        found = {name: first.setdefault(id(tensor), name) for name, tensor in tensors}
        return {name: own for name, own in found.items() if name != own}

    @cached_property
    def buffers(self) -> frozenset[str]:
        """Names of tensors that training does not change through their gradient."""
        return frozenset(name for name, _ in self.module.named_buffers())

    def __call__(self, parameters: Mapping[str, Tensor], batch: Any) -> Tensor:
        parameters = once(parameters, self.aliases)
        own = {name: self._found(name, needed, parameters) for name, needed in self.module.named_parameters()}
        device = next((one.device for one in own.values()), CPU)
        # A forward pass may write to buffers; it gets copies.
        for name, buffer in self.module.named_buffers():
            given = self._found(name, buffer, parameters) if name in parameters else buffer.to(device)
            own[name] = given.clone()
        asked = _Asking(self.module, self.losses or event_cross_entropy)
        with evaluating(self.module):
            return functional_call(asked, {f"module.{name}": value for name, value in own.items()}, (batch,))

    def _found(self, name: str, needed: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        found = parameters.get(name)
        if found is None or found.shape != needed.shape:
            state = "missing" if found is None else f"of shape {list(found.shape)}"
            raise DamagedArtefact(
                f"tensor '{name}' is {state}; this model needs shape {list(needed.shape)}: "
                "the checkpoint has another architecture"
            )
        return found


@dataclass(frozen=True, eq=False)
class TiedLosses:
    """Event losses of tensors with one name each; `aliases` maps further names of tied tensors.

    Tensors and batches are moved to the device.

    >>> shared = torch.tensor(2.0)
    >>> losses = TiedLosses.of(lambda at, batch: at["in"] * at["out"] * batch, {"in": shared, "out": shared})
    >>> losses.aliases, losses({"in": torch.tensor(3.0)}, torch.ones(1))
    ({'out': 'in'}, tensor([9.]))
    """

    losses: EventLosses
    aliases: Mapping[str, str]
    buffers: frozenset[str] = frozenset()
    device: torch.device = CPU

    @classmethod
    def of(cls, losses: EventLosses, checkpoint: Mapping[str, Tensor], device: torch.device = CPU) -> "TiedLosses":
        """Make losses with the ties of their module, or, for another function, with those of a checkpoint."""
        if isinstance(losses, ModuleLosses):
            return cls(losses, losses.aliases, losses.buffers, device)
        return cls(losses, shared_names(checkpoint), device=device)

    def tensors(self, checkpoint: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The distinct tensors of a checkpoint, on the device, in at least single precision."""
        return {
            name: (value.float() if value.dtype in (torch.float16, torch.bfloat16) else value).to(self.device)
            for name, value in once(checkpoint, self.aliases).items()
        }

    def parameters(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors that a gradient changes."""
        return {
            name: value
            for name, value in tensors.items()
            if value.is_floating_point() and name not in self.buffers
        }

    def beside(self, tensors: Mapping[str, Tensor]) -> EventLosses:
        """The losses as a function of parameters only, with all other tensors fixed."""
        return lambda parameters, batch: self({**tensors, **parameters}, batch)

    def __call__(self, tensors: Mapping[str, Tensor], batch: Any) -> Float[Tensor, " events"]:
        tied = {alias: tensors[name] for alias, name in self.aliases.items() if name in tensors}
        losses = self.losses({**tensors, **tied}, moved(batch, self.device))
        if losses.ndim != 1:
            raise InvalidConfig(
                f"the losses of a batch have shape {list(losses.shape)}; give one for each event in one "
                "dimension, as with reduction='none' and flatten()"
            )
        return losses


def once(tensors: Mapping[str, Tensor], aliases: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors by main name only.

    >>> once({"head": torch.zeros(1)}, {"head": "embedding"})
    {'embedding': tensor([0.])}
    """
    given = {aliases[name]: value for name, value in tensors.items() if name in aliases}
    return {**given, **{name: value for name, value in tensors.items() if name not in aliases}}


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Context manager that puts a module into evaluation mode and then restores the mode of each part."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


class _Asking(nn.Module):
    """A module whose forward pass computes the losses, so that parameters are replaced everywhere."""

    def __init__(self, module: nn.Module, losses: Callable[[Any, Any], Tensor]) -> None:
        super().__init__()
        self.module, self.losses = module, losses

    def forward(self, batch: Any) -> Tensor:
        return self.losses(self.module, batch)


def event_cross_entropy(model: Callable[[Events], Tensor], events: Events) -> Float[Tensor, " events"]:
    """Cross-entropy of every event, in nats."""
    return nn.functional.cross_entropy(model(events), events.target, reduction="none")
