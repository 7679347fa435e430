"""Minibatches as a function of the step, so that an interrupted training resumes with the same batches."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Tensor

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class Minibatches:
    """Examples in a new order in every epoch, `size` at a time; a rest is carried into the next epoch.

    >>> events = Events.of([[1], [2], [3], [4]], [[9]] * 4)
    >>> batches = Minibatches(events, size=2, seed=0)
    >>> sorted(torch.cat([batches(0).tokens, batches(1).tokens]).flatten().tolist())
    [1, 2, 3, 4]
    """

    events: Events
    size: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.size <= len(self.events):
            raise InvalidConfig(
                f"batch = {self.size:,} of {len(self.events):,} examples; give a batch from 1 to that many"
            )

    def __call__(self, step: int) -> Events:
        """The batch of the update that follows `step` updates."""
        return self.events.taken(self.examples(step))

    def examples(self, step: int) -> Int[Tensor, " size"]:
        """The indices of its examples."""
        epoch, turn = divmod(step, len(self.events) // self.size)
        order = _order(len(self.events), self.seed, epoch)[turn * self.size : (turn + 1) * self.size]
        return order.to(self.events.tokens.device)


@lru_cache(maxsize=2)
def _order(examples: int, seed: int, epoch: int) -> Int[Tensor, " examples"]:
    draw = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(examples, generator=draw)
