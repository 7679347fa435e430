"""A mode in which operations have forms whose second derivative with respect to event weights is quick."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from quantascope.discovery.gelu import quick_gelu
from quantascope.discovery.layer_norm import quick_layer_norm

_FORMS: dict[Callable[..., Any], Callable[..., Tensor]] = {
    torch.nn.functional.layer_norm: quick_layer_norm,
    torch.layer_norm: quick_layer_norm,
    torch.nn.functional.gelu: quick_gelu,
}


class QuickDerivatives(TorchFunctionMode):
    """Context manager in which layer normalization and GELU have their quick forms.

    It is for gradients that are taken after the context has been left. Torch's own are used under transforms of
    `torch.func`, under autocast, and where losses are themselves made of gradients.
    """

    def __init__(self) -> None:
        super().__init__()
        self.entered = False

    def __enter__(self) -> "QuickDerivatives":
        self.entered = True
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.entered = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        form, named = _FORMS.get(func), kwargs or {}
        if form and not _autocasts(*args, **named):
            with suppress(RuntimeError):  # a transform of torch.func refuses it
                return form(self, *args, **named)
        return func(*args, **named)


def _autocasts(input: Tensor, *args: Any, **named: Any) -> bool:
    """Whether autocast is on for the device of a tensor; some types of device do not have it."""
    device = input.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
