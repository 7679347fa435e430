"""Estimates the cost of a priority field from a model's config.json alone.

The model is built on torch's meta device, where tensors have a shape but no memory. The same code that measures a
field takes its derivatives there, and their operations and bytes are counted. For a model of many equal blocks,
this is done with one, two and three blocks and extrapolated: the number of operations is quadratic in the number
of blocks, since each layer needs a pass through all later ones. Seconds are operations divided by a rate: either a
given one, or the rate of this machine, measured on one block with random weights.

    seconds = intervals × points of an interval × operations of a point / (workers × rate)

Reading checkpoints takes extra time. The number of points that the path rule needs is not known in advance: two
are enough for small steps, five for most others. The estimate assumes four and states the time with two and with
five. Where checkpoints are far apart, an interval can need 11 points or more. A known number replaces the range.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from quantascope.discovery.cost import HELD, FieldCost, field_bytes
from quantascope.discovery.interval import Rule
from quantascope.discovery.linearized import Linearized
from quantascope.discovery.memory import Footprint, check_budget
from quantascope.discovery.priority import check_rule
from quantascope.models.device import CPU
from quantascope.models.hugging_face.families import block_prefix, family_of, layers_of
from quantascope.models.hugging_face.pretrained import outlined
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import ModuleLosses

POINTS: dict[Rule, float] = {"path": 4.0, "gradient": 1.0}
"""Points of an interval at which derivatives are taken, where their number is not known."""
FEWEST_AND_MOST = (2.0, 5.0)
"""Points of an interval by the first two quadrature rules, for the range of the path rule."""
_ROWS = 5
"""Numbers of windows for which bytes are counted."""
_TIMED_TOKENS = 256
"""Approximate number of tokens in the timed block: enough to fill the caches like a full run."""


@dataclass(frozen=True)
class WindowCost:
    """Cost of the derivatives at one point, for windows of `length` tokens; each token but the first is an event.

    >>> each = WindowCost(layers=2, length=5, weights=8, operations=1e6, footprint=Footprint(100.0, 10.0))
    >>> each.field(rate=1e6, examples=10, intervals=3).seconds
    120.0
    """

    layers: int
    length: int
    weights: int
    """Size of the parameters in bytes."""
    operations: float
    """Multiplications and additions of matrix products, per window."""
    footprint: Footprint

    @classmethod
    def of(cls, file: Path, length: int) -> "WindowCost":
        """Count the cost on the meta-device model that a config.json describes."""
        if length < 2:
            raise InvalidConfig(f"length = {length} leaves nothing to measure; give at least 2")
        model = outlined(file)
        layers, weights = len(layers_of(model)), sum(value.nbytes for value in model.parameters())
        few = range(1, 4) if layers > 3 else [layers]
        works = [_Work(_of_blocks(file, blocks), length) for blocks in few]
        found = [Footprint.of(work.on_outline, available=_ROWS) for work in works]
        operations, one, each = (
            _continued(values, layers) if layers > 3 else values[0]
            for values in (
                [work.operations for work in works],
                [footprint.one for footprint in found],
                [footprint.each for footprint in found],
            )
        )
        return cls(layers, length, weights, operations, Footprint(one, each))

    def field(
        self,
        *,
        rate: float,
        examples: int,
        intervals: int,
        rule: Rule = "path",
        memory: float = 2e9,
        workers: int = 1,
        points: float | None = None,
    ) -> FieldCost:
        """The cost of the field of `examples` windows, on workers that each do `rate` operations per second.

        `points` is the number of points of an interval, if it is known; otherwise the path rule has a range.
        """
        check_rule(rule)
        check_budget(memory)
        if min(examples, intervals, workers) < 1 or not rate > 0 or (points is not None and points < 1):
            raise InvalidConfig(
                f"{examples} examples in {intervals} intervals by {workers} workers of {rate:g} operations a "
                f"second{'' if points is None else f' at {points:g} points'} leave nothing to measure; give more "
                "than 0 of each"
            )
        busy, events = min(workers, intervals), examples * (self.length - 1)
        per_point = intervals * examples * self.operations / rate / busy
        unknown = points is None and rule == "path"
        each = POINTS[rule] if points is None else points
        chunk = replace(self.footprint, available=examples).within(memory)
        own = self.footprint.bytes(chunk) + HELD[rule] * self.weights
        return FieldCost(
            seconds=each * per_point,
            bytes=busy * own + field_bytes(self.layers, events, intervals),
            intervals=intervals,
            layers=self.layers,
            events=events,
            points=intervals * each,
            seconds_range=(FEWEST_AND_MOST[0] * per_point, FEWEST_AND_MOST[1] * per_point) if unknown else None,
        )


def _of_blocks(file: Path, blocks: int) -> Any:
    """The meta-device model with only its first `blocks` blocks."""
    model = outlined(file)
    del model.get_submodule(block_prefix(family_of(model)))[blocks:]
    return model


def _continued(values: Sequence[float], place: int) -> float:
    """The value at a point of the parabola through the values at 1, 2 and 3.

    >>> _continued([1.0, 4.0, 9.0], 12)
    144.0
    """
    first, second, third = values
    return first + (place - 1) * (second - first) + (place - 1) * (place - 2) / 2 * (third - 2 * second + first)


def measured_rate(file: Path, length: int, device: str | torch.device = CPU) -> float:
    """Operations per second for derivatives of one block with random weights, the better of two measurements."""
    model = _of_blocks(file, 1)
    model.to_empty(device=device)
    with torch.no_grad():
        for value in (*model.parameters(), *model.buffers()):
            if value.is_floating_point():
                value.normal_(0.0, 0.02)
    work = _Work(model, length)
    rows = max(1, _TIMED_TOKENS // length)
    tokens = torch.randint(0, model.config.vocab_size, (rows, length), device=device)
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        work(tokens)
        if torch.device(device).type == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return rows * work.operations / min(taken[1:])


def _window_losses(model: Any, tokens: Int[Tensor, "rows length"]) -> Float[Tensor, " events"]:
    """Cross-entropy of every token but the first.

    An open mask is passed, because transformers would read token values to make one, and meta tensors have none.
    """
    rows, length = tokens.shape
    opened = torch.zeros(rows, 1, length, length, device=tokens.device)
    logits = model(input_ids=tokens, attention_mask=opened, use_cache=False).logits
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none"
    )


class _Work:
    """The derivatives of a field at one point, along every layer and the rest."""

    def __init__(self, model: Any, length: int) -> None:
        self.length = length
        self._losses = ModuleLosses(model, _window_losses)
        self._at: Mapping[str, Tensor] = {name: value.detach() for name, value in model.named_parameters()}
        inside = [pattern.removesuffix("*") for pattern in layers_of(model).values()]
        groups = [[name for name in self._at if name.startswith(prefix)] for prefix in inside]
        rest = [name for name in self._at if not name.startswith(tuple(inside))]
        self._directions = [{name: self._at[name] for name in names} for names in (*groups, rest)]

    def __call__(self, tokens: Int[Tensor, "rows length"]) -> None:
        Linearized(self._losses, dict(self._at), [tokens]).along(self._directions)

    def on_outline(self, some: slice) -> None:
        """The derivatives of some windows on the meta device."""
        at = {name: value.to("meta") for name, value in self._at.items()}
        ways = [{name: at[name] for name in way} for way in self._directions]
        tokens = torch.zeros(some.stop - some.start, self.length, dtype=torch.long, device="meta")
        Linearized(self._losses, at, [tokens]).along(ways)

    @property
    def operations(self) -> float:
        """Operations per window: multiplications and additions of matrix products."""
        with FlopCounterMode(display=False) as counter:
            self.on_outline(slice(0, 1))
        return float(counter.get_total_flops())
