"""Estimates the cost of a priority field from a few examples of a few intervals."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from quantascope.discovery.derivative_form import footprints
from quantascope.discovery.groups import Groups
from quantascope.discovery.interval import Interval, Rule
from quantascope.discovery.linearized import Derivatives, Parameters
from quantascope.discovery.priority import prepare
from quantascope.models.device import CPU
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.memory import shown_bytes
from quantascope.sources.losses import EventLosses
from quantascope.tasks.task import Examples
from quantascope.training import Trajectory

_FEW = 5
_PART = 8
"""The timed piece is one in this many of all examples."""
_MORE = 20
"""The timed piece has at least this many examples, if there are so many, lest fixed costs be scaled up."""
HELD: dict[Rule, int] = {"path": 4, "gradient": 3}
"""Number of copies of the parameters in memory at once: checkpoints, directions or gradients."""
_UNITS = ((5400.0, 3600.0, "hour"), (90.0, 60.0, "minute"), (0.0, 1.0, "second"))


@dataclass(frozen=True)
class FieldCost:
    """The estimated time and peak memory of a priority field.

    >>> print(FieldCost(seconds=190.0, bytes=8.1e8, intervals=40, layers=2, events=1651, points=80.0))
    about 3 minutes, 0.81 GB, 40 intervals of 2 layers × 1,651 events
    """

    seconds: float
    bytes: float
    intervals: int
    layers: int
    events: int
    points: float
    """Number of points along the trajectory at which derivatives of all events are taken."""
    derivatives: Derivatives = "backward"
    seconds_range: tuple[float, float] | None = None
    """Seconds with the fewest and with the most points, where their number is not known."""

    def __str__(self) -> str:
        """In words."""
        told = shown_seconds(self.seconds) if self.seconds_range is None else shown_range(*self.seconds_range)
        differences = ", by differences of forward passes" if self.derivatives == "differences" else ""
        return (
            f"about {told}, {shown_bytes(self.bytes)}, {self.intervals:,} intervals of "
            f"{self.layers} layers × {self.events:,} events{differences}"
        )


def field_cost(
    trajectory: Trajectory,
    event_losses: EventLosses,
    groups: Groups,
    *,
    train: Examples,
    events: Examples | None = None,
    rule: Rule = "path",
    tolerance: float = 0.01,
    memory: float = 2e9,
    derivatives: Derivatives | None = None,
    device: str | torch.device = CPU,
    workers: int = 1,
) -> FieldCost:
    """The cost of `priority_field` with the same arguments, on an engine with `workers` workers.

    The last interval is timed on a few examples and on an eighth of all, or on twenty if an eighth is less; time
    is linear in the number of examples. The number of points of the path rule is counted on a few examples of the
    first, middle and last intervals.
    With many examples, all this takes a fraction of the time of one interval.
    """
    if workers < 1:
        raise InvalidConfig(f"{workers} workers cannot measure anything; give at least 1")
    interval = prepare(
        trajectory,
        event_losses,
        groups,
        train=train,
        events=events,
        rule=rule,
        tolerance=tolerance,
        memory=memory,
        derivatives=derivatives,
        device=device,
    )
    count = len(trajectory) - 1
    few = _cut(interval, 0.0)
    points = count * float(np.mean([few.counted(index)[1] for index in sorted({0, count // 2, count - 1})]))
    last = interval.tensors(count)
    measured = len(interval.losses(last))
    busy = min(workers, count)
    return FieldCost(
        seconds=points * _seconds_per_point(interval, few, count - 1) / busy,
        bytes=busy * _working_bytes(interval, last) + field_bytes(len(interval.members), measured, count),
        intervals=count,
        layers=len(interval.members),
        events=measured,
        points=points,
        derivatives=interval.derivatives,
    )


def _cut(interval: Interval, share: float) -> Interval:
    """The same measurement on a share of its examples, taken from the middle, but at least a few."""
    events = _middle(interval.events, share)
    train = events if interval.train is interval.events else _middle(interval.train, share)
    return replace(interval, events=events, train=train)


def _middle(examples: Examples, share: float) -> Any:
    size = min(max(_FEW, round(share * len(examples))), len(examples))
    start = (len(examples) - size) // 2
    return examples[start : start + size]


def _seconds_per_point(interval: Interval, few: Interval, index: int) -> float:
    """Seconds for all derivatives at one point, extrapolated linearly from few and more examples."""
    more = _cut(interval, max(1 / _PART, _MORE / len(interval.events)))
    short, long = _timed(few, index), _timed(more, index)
    least, most, all_ = (len(one.events) for one in (few, more, interval))
    if most == least:
        return short * all_ / least
    return short + max(long - short, 0.0) / (most - least) * (all_ - least)


def _timed(interval: Interval, index: int) -> float:
    """Seconds per point of an interval: the smaller of two runs, since another process may disturb one."""
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        _, points = interval.counted(index)
        taken.append((time.perf_counter() - began) / points)
    return min(taken)


def _working_bytes(interval: Interval, tensors: Parameters) -> float:
    """Bytes of the derivatives of one chunk and of the parameter copies held at the same time."""
    found = footprints(
        interval.event_losses, tensors, interval.train, interval.events, interval.rule, interval.derivatives
    )
    held = HELD[interval.rule] * sum(one.nbytes for one in tensors.values())
    return max(one.bytes(interval.chunk) for one in found) + held


def field_bytes(layers: int, events: int, intervals: int) -> float:
    """Bytes of the field: credit by layer, credit of other parameters, and losses, as parts and joined."""
    return 2.0 * 4 * (layers + 2) * events * intervals


def shown_seconds(seconds: float) -> str:
    """A time as text in a suitable unit.

    >>> [shown_seconds(seconds) for seconds in (190.0, 60.0, 7200.0, 0.2)]
    ['3 minutes', '60 seconds', '2 hours', '1 second']
    """
    unit, name = next((unit, name) for least, unit, name in _UNITS if seconds >= least)
    number = max(round(seconds / unit), 1)
    return f"{number} {name}{'' if number == 1 else 's'}"


def shown_range(least: float, most: float) -> str:
    """A range of times as text.

    >>> shown_range(130.0, 320.0), shown_range(3000.0, 7500.0), shown_range(0.4, 1.0)
    ('2 to 5 minutes', '50 minutes to 2 hours', '1 second')
    """
    first, last = shown_seconds(least), shown_seconds(most)
    if first == last:
        return first
    number, unit = first.split()
    same = unit.removesuffix("s") == last.split()[1].removesuffix("s")
    return f"{number if same else first} to {last}"
