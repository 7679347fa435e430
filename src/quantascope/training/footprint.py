"""The memory that training a network takes, estimated before the network is built."""

from collections.abc import Callable

import torch
from torch import nn

from quantascope.models.device import CPU, free_bytes
from quantascope.runs.memory import FLOAT, check_memory
from quantascope.training.optimizer import OptimizerConfig


def check_training(
    parameters: int,
    optimizer: OptimizerConfig,
    *,
    what: str,
    activations: int = 0,
    device: torch.device = CPU,
) -> None:
    """Refuse a network that cannot be trained in the memory of a device; `what` names the settings of its size.

    Training holds weights, gradient, moments, and the `activations` of a batch that the backward pass needs.

    >>> check_training(10**12, OptimizerConfig(), what="a width of 1,000,000")
    Traceback (most recent call last):
    quantascope.runs.errors.InvalidConfig: a width of 1,000,000 needs about 16.00 TB of memory, and ...
    """
    check_memory(FLOAT * (parameters * (2 + optimizer.moments) + activations), what, free=free_bytes(device))


def count_parameters(build: Callable[[], nn.Module]) -> int:
    """Parameters of a network that is built without memory for them.

    >>> count_parameters(lambda: nn.Linear(10**6, 10**6, bias=False))
    1000000000000
    """
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build().parameters())
