"""Guidance: a frozen Q-model as a removable target for the blocks of a Transformer (paper, section 5.3).

    L = cross-entropy + λ · mean over events e and depths d of ‖Uᵀ Δh_d(e) − Z_d(e)‖²

Δh_d is what block d adds at the predicting token, Z_d the sum of the Q-model's messages at level d, U a fixed
semi-orthogonal map (the identity if widths are equal). In your own training loop, with the block updates:

    guidance = Guidance.of(level_sums(qmodel, events), blocks=model.depth, width=model.width)
    loss = cross_entropy + guidance.alignment(updates)     # updates[d]: events × width
    loss = … + guidance.at(numbers).alignment(updates)     # the same for some of the events

The Transformer keeps no part of the Q-model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.models import Execution
from quantascope.models.device import device_of
from quantascope.qmodel.compiled.model import CompiledQModel
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

_EXAMPLES_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Guidance:
    """The target update of each guided block at every event, and the map through which it is compared."""

    target: Float[Tensor, "events guided q_width"]
    blocks: tuple[int, ...]
    """The guided blocks, one for each target."""
    projection: Float[Tensor, "width q_width"]
    weight: float = 1.0
    window: int = 1
    """Number of consecutive blocks that are compared as one sum, so that they can share the work."""

    @classmethod
    def of(
        cls,
        levels: Float[Tensor, "events levels q_width"],
        *,
        blocks: int,
        width: int,
        level_to_block: Sequence[int] | None = None,
        window: int = 1,
        weight: float = 1.0,
        seed: int = 0,
    ) -> "Guidance":
        """Guidance by level sums Z for a Transformer with `blocks` blocks.

        Level d guides block d, or the block that `level_to_block` names; levels that share a block are summed.

        >>> levels = torch.stack([torch.full((5, 2), float(level)) for level in range(3)], 1)
        >>> guidance = Guidance.of(levels, blocks=2, width=4, level_to_block=(0, 1, 1))
        >>> guidance.target[0].tolist()
        [[0.0, 0.0], [3.0, 3.0]]
        """
        depth = levels.shape[1]
        if level_to_block is None and depth > blocks:
            raise InvalidConfig(
                f"{depth} levels cannot guide {blocks} blocks one to one; assign each level to a block "
                f"(level_to_block, {depth} numbers from 0 to {blocks - 1})"
            )
        mapped = tuple(range(depth)) if level_to_block is None else tuple(level_to_block)
        if len(mapped) != depth or not all(0 <= block < blocks for block in mapped):
            raise InvalidConfig(
                f"level_to_block is {mapped}; give one block from 0 to {blocks - 1} for each of the {depth} levels"
            )
        guided = tuple(sorted(set(mapped)))
        if not 1 <= window <= len(guided):
            raise InvalidConfig(f"a window of {window} does not fit into {len(guided)} guided blocks")
        sums = [sum(levels[:, level] for level in range(depth) if mapped[level] == block) for block in guided]
        target = torch.stack([torch.as_tensor(one) for one in sums], 1)
        projection = semi_orthogonal(width, levels.shape[-1], seed=seed).to(target.device)
        return cls(target, guided, projection, weight, window)

    def alignment(self, updates: Sequence[Float[Tensor, "events width"]]) -> Float[Tensor, ""]:
        """λ times the squared error, summed over width and averaged over events and windows of guided blocks."""
        if max(self.blocks) >= len(updates):
            raise InvalidConfig(f"block {max(self.blocks)} is guided, but there are {len(updates)} blocks")
        events, width = updates[0].shape
        if events != len(self.target):
            raise InvalidConfig(
                f"updates at {events} events, but targets for {len(self.target)}; give the same events, or choose "
                "those of a minibatch with guidance.at(events)"
            )
        if width != len(self.projection):
            raise InvalidConfig(
                f"updates of width {width}, but the guidance was made for width {len(self.projection)}; "
                f"give Guidance.of(…, width={width})"
            )
        added = torch.stack([updates[block] for block in self.blocks], 1)
        added = added if self._is_identity else added @ self.projection
        error = added - self.target
        if self.window > 1:
            error = error.unfold(1, self.window, 1).sum(-1)
        return self.weight * error.square().sum(-1).mean()

    def at(self, events: Int[Tensor, " chosen"]) -> "Guidance":
        """The guidance of the events with these indices, as for a minibatch."""
        if len(events) and not 0 <= int(events.min()) <= int(events.max()) < len(self.target):
            raise InvalidConfig(
                f"there are targets for {len(self.target)} events, but index {int(events.max())} was given; "
                "count them from 0 in the order of the targets"
            )
        return replace(self, target=self.target[events])

    @cached_property
    def _is_identity(self) -> bool:
        rows, columns = self.projection.shape
        return rows == columns and torch.equal(self.projection, torch.eye(rows).to(self.projection))

    def to(self, *args: Any) -> "Guidance":
        """A copy on another device or of another dtype, as by `Tensor.to`."""
        return replace(self, target=self.target.to(*args), projection=self.projection.to(*args))

    def shuffled_over_depth(self, *, seed: int) -> "Guidance":
        """A control: every block gets the target of another block, the same one for all events."""
        if len(self.blocks) < 2:
            raise InvalidConfig("a single guided block cannot exchange its target; guide at least two")
        return replace(self, target=self.target[:, _derangement(len(self.blocks), seed).to(self.target.device)])

    def shuffled_over_events(self, *, seed: int, groups: Int[Tensor, " events"] | None = None) -> "Guidance":
        """A control: every event gets the targets of another event, from the same group if groups are given."""
        draw = torch.Generator().manual_seed(seed)
        groups = torch.zeros(len(self.target), dtype=torch.long) if groups is None else groups.cpu()
        source = torch.arange(len(self.target))
        for group in groups.unique():
            members = (groups == group).nonzero().squeeze(1)
            shuffled = members[torch.randperm(len(members), generator=draw)]
            source[shuffled] = shuffled.roll(1)
        if torch.equal(source, torch.arange(len(source))):
            raise InvalidConfig("no two events share a group, so nothing can be shuffled; give larger groups")
        return replace(self, target=self.target[source.to(self.target.device)])


def semi_orthogonal(width: int, q_width: int, *, seed: int) -> Float[Tensor, "width q_width"]:
    """A fixed map U whose columns (or rows, if these are fewer) are orthonormal; the identity for equal widths.

    >>> u = semi_orthogonal(6, 4, seed=0)
    >>> torch.allclose(u.T @ u, torch.eye(4), atol=1e-6)
    True
    """
    if width == q_width:
        return torch.eye(width)
    draw = torch.Generator().manual_seed(seed)
    return torch.nn.init.orthogonal_(torch.empty(width, q_width), generator=draw)


@torch.no_grad()
def level_sums(
    model: CompiledQModel, events: Events, routing: Float[Tensor, "quanta events"] | None = None
) -> Float[Tensor, "events levels width"]:
    """Z of every event, computed in batches on the Q-model's device."""
    device = device_of(model)
    highest, length = int(events.tokens.max()), events.tokens.shape[1]
    if highest >= model.vocabulary or length > model.positions:
        raise InvalidConfig(
            f"the events have tokens up to {highest} and {length} positions, and the Q-model knows "
            f"{model.vocabulary} tokens and {model.positions} positions; give events of its own task"
        )
    parts, done = [], 0
    for start in range(0, len(events), _EXAMPLES_AT_ONCE):
        part = events[start : start + _EXAMPLES_AT_ONCE]
        given = None if routing is None else routing[:, done : done + part.count].to(device)
        parts.append(model.run(part.to(device), given).level_sums(model.graph))
        done += part.count
    return torch.cat(parts)


def level_scale(levels: Float[Tensor, "events levels q_width"], norm: float) -> Float[Tensor, "levels 1"]:
    """The factor that scales each level's messages to this root-mean-square norm over events.

    >>> level_scale(torch.tensor([[[3.0, 4.0], [0.0, 2.0]]]), 1.0)
    tensor([[0.2000],
            [0.5000]])
    """
    return norm / levels.square().sum(-1).mean(0).sqrt().clamp(min=1e-12)[:, None]


def event_updates(execution: Execution, events: Events) -> list[Float[Tensor, "events width"]]:
    """The update of each block at the predicting tokens."""
    rows = events.event_rows
    return [update if len(update) == len(rows) else update[rows] for update in execution.updates]


def linear_cka(first: Float[Tensor, "events width"], second: Float[Tensor, "events q_width"]) -> float:
    """Linear CKA: similarity of two representations of the same events, from 0 to 1, for any bases.

    >>> points = torch.randn(100, 4, generator=torch.Generator().manual_seed(0))
    >>> round(linear_cka(points, 3 * points @ semi_orthogonal(4, 6, seed=1)), 4)
    1.0
    """
    first, second = (one.cpu().double() - one.cpu().double().mean(0) for one in (first, second))
    shared = (first.T @ second).square().sum()
    return float(shared / ((first.T @ first).norm() * (second.T @ second).norm()).clamp(min=1e-30))


def _derangement(count: int, seed: int) -> Int[Tensor, " depths"]:
    """A permutation without fixed points, drawn as a random cycle."""
    cycle = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    source = torch.arange(count)
    source[cycle] = cycle.roll(1)
    return source
