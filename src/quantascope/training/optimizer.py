"""Optimizers and learning-rate schedules, by name."""

import math
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import nn

from quantascope.runs.config import Config, Count, NonNegativeFloat, PositiveFloat

Momentum = Annotated[float, Field(ge=0, lt=1)]


class OptimizerConfig(Config):
    """An optimizer; `weight_decay` is coupled L2 for SGD and Adam, decoupled for AdamW."""

    name: Literal["sgd", "adam", "adamw"] = "adam"
    learning_rate: PositiveFloat = 1e-3
    momentum: Momentum = 0.0
    betas: tuple[Momentum, Momentum] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-8
    weight_decay: NonNegativeFloat = 0.0

    @property
    def moments(self) -> int:
        """Number of state values per parameter."""
        return int(self.momentum > 0) if self.name == "sgd" else 2

    @model_validator(mode="after")
    def _refuse_ignored(self) -> "OptimizerConfig":
        if self.momentum and self.name != "sgd":
            raise ValueError(f"momentum {self.momentum:g} has no effect on {self.name}; set betas, or use sgd")
        return self


class ScheduleConfig(Config):
    """Learning rate over time as a factor: linear warm-up, constant, then a decay to zero after the last update.

    With `zero_update`, as in the paper's released code, zero is already the factor of the last update.
    """

    LATER: ClassVar[tuple[str, ...]] = ("zero_update",)

    warmup: Count = 0
    decay: Literal["none", "linear", "cosine"] = "none"
    decay_from: Count = 0
    zero_update: bool = False

    def factor(self, step: int, steps: int) -> float:
        """The factor of the update that follows `step` updates, out of `steps`.

        >>> ScheduleConfig(decay="linear", decay_from=500).factor(750, steps=1000)
        0.5
        >>> ScheduleConfig(decay="linear", decay_from=500, zero_update=True).factor(999, steps=1000)
        0.0
        """
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.decay == "none" or step < self.decay_from:
            return 1.0
        done = (step + self.zero_update - self.decay_from) / max(1, steps - self.decay_from)
        return 1 - done if self.decay == "linear" else (1 + math.cos(math.pi * done)) / 2


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """The optimizer of a model's parameters, as one fused kernel.

    A model whose parametrization needs several learning rates has a method `parameter_groups(optimizer)`, which
    returns parameters by the factor of their rate. Weight decay, which acts through the rate, is divided by it.
    """
    grouped = getattr(model, "parameter_groups", None)
    groups = grouped(config.name) if grouped else {1.0: list(model.parameters())}
    decay = config.weight_decay
    parameters = [
        {"params": pieces, "factor": factor, "lr": config.learning_rate * factor, "weight_decay": decay / factor}
        for factor, pieces in groups.items()
    ]
    rate = config.learning_rate
    match config.name:
        case "sgd":
            return torch.optim.SGD(parameters, rate, config.momentum, fused=True)
        case "adam":
            return torch.optim.Adam(parameters, rate, config.betas, config.epsilon, fused=True)
        case "adamw":
            return torch.optim.AdamW(parameters, rate, config.betas, config.epsilon, fused=True)
