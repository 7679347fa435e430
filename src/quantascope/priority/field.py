"""The priority field: how much each update helped each event, through each layer (paper, section 5.1).

Two rules measure one interval between checkpoints.

    gradient   Λ <∇_l L_e, ∇_l L_train> at the interval's start: the paper's first-order credit. It stands for the
               loss change only while steps are small and the update is plain gradient descent.
    path       -∫ <∇_l L_e, dθ_l> along the straight way between the checkpoints, by Gauss-Legendre quadrature of
               as many nodes as it takes. Over all parameters it is the loss change, for any optimizer and spacing.

Both are directional derivatives of all event losses at once: one backward pass per layer through the graph of the
population gradient, whatever the number of events. The credit of parameters outside every layer is kept as well,
so that a field knows its completeness: how much of the true loss change it accounts for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.artefact import read_tensors, write_tensors
from quantascope.config import fingerprint
from quantascope.errors import DamagedArtefact, InvalidConfig
from quantascope.priority.linearized import Linearized, Parameters
from quantascope.priority.losses import EventLosses, Examples
from quantascope.priority.memory import examples_within
from quantascope.training import Trajectory

Rule = Literal["gradient", "path"]
Groups = Mapping[str, str | Sequence[str]]
"""Layers by name: parameter names, or patterns with * and ?, of each."""

MOST_NODES = 64
LEAST_CORRELATION = 0.8
"""A field is reliable if its sum is within a factor of two of the loss change, and follows it event by event."""


@dataclass(frozen=True, eq=False)
class PriorityField:
    """Credit of every event in every interval, by layer, and the losses that it accounts for."""

    rule: Rule
    layers: tuple[str, ...]
    steps: Int[np.ndarray, " checkpoints"]
    values: Float[np.ndarray, "layers events intervals"]
    other: Float[np.ndarray, "events intervals"]
    losses: Float[np.ndarray, "events checkpoints"]

    @property
    def total(self) -> Float[np.ndarray, "events intervals"]:
        """Credit through all parameters."""
        return self.values.sum(0) + self.other

    @property
    def loss_change(self) -> Float[np.ndarray, "events intervals"]:
        """By how much each event's loss fell."""
        return -np.diff(self.losses, axis=1)

    @property
    def completeness(self) -> float:
        """Total credit over total fall of the loss; 1 for an exact account."""
        return float(self.total.sum(dtype=np.float64) / self.loss_change.sum(dtype=np.float64))

    @property
    def event_correlation(self) -> float:
        """Correlation over events and intervals of credit and true fall of the loss."""
        return float(np.corrcoef(self.total.ravel(), self.loss_change.ravel())[0, 1])

    @property
    def reliable(self) -> bool:
        """Whether factors of this field can be called quanta."""
        return 0.5 <= self.completeness <= 2 and self.event_correlation >= LEAST_CORRELATION

    def save(self, file: Path, *, made_by: str) -> None:
        """Keep the field as an artefact."""
        arrays = {name: getattr(self, name) for name in ("steps", "values", "other", "losses")}
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        write_tensors(file, tensors, made_by=made_by, rule=self.rule, layers=list(self.layers))

    @classmethod
    def load(cls, file: Path, *, made_by: str | None = None) -> "PriorityField":
        """The field of an artefact."""
        tensors, about = read_tensors(file, made_by=made_by)
        try:
            arrays = {name: tensors[name].numpy() for name in ("steps", "values", "other", "losses")}
            return cls(rule=about["rule"], layers=tuple(about["layers"]), **arrays)
        except KeyError as error:
            raise DamagedArtefact(f"{file} is not a priority field: it has no {error}; measure it again") from None


def priority_field(
    trajectory: Trajectory,
    event_losses: EventLosses,
    groups: Groups,
    *,
    train: Examples,
    events: Examples | None = None,
    rule: Rule = "gradient",
    tolerance: float = 0.01,
    memory: float = 2e9,
    engine: Executor | None = None,
    parts: Path | None = None,
    made_by: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> PriorityField:
    """Measure the priority of every event in every interval of a trajectory.

    Args:
        trajectory: Checkpoints of one run.
        event_losses: One loss per event from named parameters and a batch.
        groups: Which parameters make up which layer.
        train: Examples whose mean event loss was trained on; the gradient rule needs them.
        events: Examples whose events are measured; those trained on if not given.
        rule: How an interval is measured.
        tolerance: The path rule refines until credit and loss change differ by at most this share, in norm.
        memory: Bytes that the derivatives may take at once, beyond the field itself.
        engine: Where intervals are measured; in this process if not given.
        parts: Folder that keeps measured intervals, so that an interrupted measurement is taken up again.
        made_by: What identifies the model and the events of these parts, as a config's hash does.
        progress: Told how many intervals are measured, of how many.

    >>> import tempfile
    >>> from quantascope.priority.losses import ModuleLosses
    >>> from quantascope.training import Recorder
    >>> inputs, model, folder = torch.eye(3), torch.nn.Linear(3, 1, bias=False), tempfile.mkdtemp()
    >>> losses = ModuleLosses(model, lambda model, batch: (model(batch).squeeze(1) - 1).square())
    >>> recorder, optimizer = Recorder(model, folder, steps=5), torch.optim.SGD(model.parameters(), 0.1)
    >>> for _ in range(20):
    ...     loss = losses(dict(model.named_parameters()), inputs).mean()
    ...     optimizer.zero_grad(); loss.backward(); optimizer.step()
    ...     recorder.step(0.1)
    >>> field = priority_field(Trajectory.open(folder), losses, {"all": "*"}, train=inputs, rule="path")
    >>> field.values.shape, round(field.completeness, 4)
    ((1, 3, 4), 1.0)
    """
    if len(trajectory) < 2:
        raise InvalidConfig(f"a priority field needs at least two checkpoints, not {len(trajectory)}")
    if rule == "gradient":
        _ = trajectory.learning_rate_mass
    measured = train if events is None else events
    members = resolve_groups(groups, trajectory.load(0))
    chunk = _fitting(trajectory, event_losses, train, measured, rule, memory)
    if parts is not None and not made_by:
        raise InvalidConfig("parts of a field need made_by, which says what they are parts of")
    made_by = fingerprint([made_by, rule, tolerance, trajectory.steps.tolist(), members, len(measured)])
    interval = Interval(trajectory, event_losses, members, train, measured, rule, tolerance, chunk, parts, made_by)
    columns = _measure(interval, len(trajectory) - 1, engine, progress)
    last = interval.losses(_parameters(trajectory, len(trajectory) - 1))
    return PriorityField(
        rule=rule,
        layers=tuple(members),
        steps=trajectory.steps,
        values=torch.stack([column["values"] for column in columns], -1).numpy(),
        other=torch.stack([column["other"] for column in columns], -1).numpy(),
        losses=torch.stack([*(column["losses"] for column in columns), last], -1).numpy(),
    )


def resolve_groups(groups: Groups, parameters: Mapping[str, Tensor]) -> dict[str, tuple[str, ...]]:
    """The parameters of each layer; every layer has some, and no two share one."""
    members: dict[str, tuple[str, ...]] = {}
    owner: dict[str, str] = {}
    for layer, given in groups.items():
        patterns = [given] if isinstance(given, str) else list(given)
        names = tuple(
            name
            for name, value in parameters.items()
            if value.is_floating_point() and any(fnmatchcase(name, pattern) for pattern in patterns)
        )
        if not names:
            some = ", ".join(list(parameters)[:3])
            raise InvalidConfig(
                f"layer '{layer}' ({', '.join(patterns)}) matches no parameter; there are {some}, …"
            )
        for name in names:
            if name in owner:
                raise InvalidConfig(
                    f"parameter '{name}' is in layer '{owner[name]}' and in '{layer}'; give it to one"
                )
            owner[name] = layer
        members[layer] = names
    if not members:
        raise InvalidConfig("a priority field needs at least one layer; name some parameters")
    return members


@dataclass(frozen=True, eq=False)
class Interval:
    """The measurement of one interval, as a piece of work for an engine."""

    trajectory: Trajectory
    event_losses: EventLosses
    members: Mapping[str, tuple[str, ...]]
    train: Examples
    events: Examples
    rule: Rule
    tolerance: float
    chunk: int
    parts: Path | None
    made_by: str

    @cached_property
    def _pieces(self) -> list[Any]:
        return _chunks(self.events, self.chunk)

    @cached_property
    def _trained(self) -> list[Any]:
        return self._pieces if self.train is self.events else _chunks(self.train, self.chunk)

    @torch.no_grad()
    def losses(self, parameters: Parameters) -> Float[Tensor, " events"]:
        """The loss of every event."""
        return torch.cat([self.event_losses(parameters, piece) for piece in self._pieces])

    def __call__(self, index: int) -> dict[str, Tensor]:
        """Credit by layer, credit of other parameters, and the losses before, of one interval."""
        file = None if self.parts is None else self.parts / f"interval-{index:05d}.safetensors"
        if file is not None and file.exists():
            return read_tensors(file, made_by=self.made_by)[0]
        column = self._measure(index)
        if file is not None:
            write_tensors(file, column, made_by=self.made_by)
        return column

    def _measure(self, index: int) -> dict[str, Tensor]:
        start = _parameters(self.trajectory, index)
        if self.rule == "gradient":
            losses, credit = self._first_order(start, float(self.trajectory.learning_rate_mass[index]))
            self._check_losses(losses, index)
        else:
            losses = self.losses(start)
            self._check_losses(losses, index)
            end = _parameters(self.trajectory, index + 1)
            self._check_shapes(start, end, index)
            way = {name: start[name] - end[name] for name in start}
            credit = self._along(start, way, losses - self.losses(end))
        return {"values": credit[:-1], "other": credit[-1], "losses": losses}

    def _first_order(
        self, start: Parameters, mass: float
    ) -> tuple[Float[Tensor, " events"], Float[Tensor, "groups events"]]:
        """Losses at the start, and the credit of a step of this mass down the gradient."""
        here = Linearized(self.event_losses, start, self._pieces)
        own = self.train is self.events
        gradient = (here if own else Linearized(self.event_losses, start, self._trained)).gradient()
        way = {name: mass * value for name, value in gradient.items()}
        return here.along(self._directions(way))

    def _along(
        self, start: Parameters, way: Parameters, fall: Float[Tensor, " events"]
    ) -> Float[Tensor, "groups events"]:
        """Credit along the way from `start`, of as many nodes as bring its sum to the fall of the loss.

        A fall that is lost in the rounding of the losses needs no more than the fewest.
        """
        rounding = len(fall) ** 0.5 * torch.finfo(fall.dtype).eps * 10
        directions = self._directions(way)
        count = 2
        while True:
            place, weight = np.polynomial.legendre.leggauss(count)
            credit = torch.stack(
                [
                    (w / 2) * self._at(start, way, (1 + x) / 2).along(directions)[1]
                    for x, w in zip(place.tolist(), weight.tolist(), strict=True)
                ]
            ).sum(0)
            error = float((credit.sum(0) - fall).norm())
            if error <= max(self.tolerance * float(fall.norm()), rounding) or 2 * count > MOST_NODES:
                return credit
            count *= 2

    def _at(self, start: Parameters, way: Parameters, place: float) -> Linearized:
        at = {name: value - place * way[name] for name, value in start.items()}
        return Linearized(self.event_losses, at, self._pieces)

    def _directions(self, way: Parameters) -> list[Parameters]:
        """The way of each layer alone, and last that of all parameters outside them."""
        inside = {name for names in self.members.values() for name in names}
        groups = [*self.members.values(), tuple(name for name in way if name not in inside)]
        return [{name: way[name] for name in names} for names in groups]

    def _check_losses(self, losses: Float[Tensor, " events"], index: int) -> None:
        bad = (~torch.isfinite(losses)).nonzero().flatten()
        if len(bad):
            event, step = int(bad[0]), self.trajectory.steps[index]
            raise InvalidConfig(
                f"the loss of event {event} is {float(losses[event])} at step {step} ({len(bad)} of {len(losses)} "
                "are not finite); leave these events out or check the checkpoint with quantascope audit"
            )

    def _check_shapes(self, start: Parameters, end: Parameters, index: int) -> None:
        for name, value in start.items():
            if name not in end or end[name].shape != value.shape:
                found = f"of shape {list(end[name].shape)}" if name in end else "missing"
                before, after = self.trajectory.steps[index : index + 2]
                raise DamagedArtefact(
                    f"tensor '{name}' is {found} at step {after} and of shape {list(value.shape)} at step "
                    f"{before}: one checkpoint is of another architecture"
                )


def _measure(
    interval: Interval, count: int, engine: Executor | None, progress: Callable[[int, int], None] | None
) -> list[dict[str, Tensor]]:
    columns: Iterable[dict[str, Tensor]] = (
        map(interval, range(count)) if engine is None else engine.map(interval, range(count))
    )
    gathered = []
    for column in columns:
        gathered.append(column)
        if progress:
            progress(len(gathered), count)
    return gathered


def _parameters(trajectory: Trajectory, index: int) -> Parameters:
    """The floating-point tensors of a checkpoint, in single precision at least."""
    return {
        name: value.float() if value.dtype in (torch.float16, torch.bfloat16) else value
        for name, value in trajectory.load(index).items()
        if value.is_floating_point()
    }


def _chunks(examples: Examples, chunk: int) -> list[Any]:
    return [examples[start : start + chunk] for start in range(0, len(examples), chunk)]


def _fitting(
    trajectory: Trajectory,
    event_losses: EventLosses,
    train: Examples,
    events: Examples,
    rule: Rule,
    memory: float,
) -> int:
    """How many examples fit the memory budget with the graph of their derivatives."""
    start = _parameters(trajectory, 0)
    fitting = []
    for name, examples in {"train": train, "events": events}.items():
        if not len(examples):
            raise InvalidConfig(f"there are no examples in {name}; give at least one")
        if name == "events" or (rule == "gradient" and train is not events):
            work = partial(_linearize, event_losses, start, examples)
            fitting.append(examples_within(memory, work, available=len(examples)))
    return min(fitting)


def _linearize(event_losses: EventLosses, at: Parameters, examples: Examples, some: slice) -> None:
    Linearized(event_losses, at, [examples[some]]).along([at])
