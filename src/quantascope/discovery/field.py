"""The priority field: how much each update helped each event, through each layer (paper, section 5.1).

Two rules measure one interval between checkpoints.

    gradient   Λ <∇_l L_e, ∇_l L_train> at the interval's start: the paper's first-order credit. It stands for the
               loss change only while steps are small and the update is plain gradient descent.
    path       -∫ <∇_l L_e, dθ_l> along the straight way between the checkpoints, by Gauss-Legendre quadrature of
               as many nodes as it takes. Over all parameters it is the loss change, for any optimizer and spacing.

Both are directional derivatives of all event losses at once: one backward pass per layer through the graph of the
population gradient, whatever the number of events. The credit of parameters outside every layer is kept as well,
so that a field knows its completeness: how much of the true loss change it accounts for. A tied tensor is one
parameter and belongs to the layer that has any of its names. Buffers belong to no layer: no gradient moves them,
and the path rule moves the parameters first and then the buffers, whose credit is with that of the rest.
"""

import hashlib
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.discovery.linearized import Linearized, Parameters
from quantascope.discovery.memory import examples_within
from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.sources.losses import EventLosses, TiedLosses
from quantascope.tasks.task import Examples
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
        """Total credit over total fall of the loss; 1 for an exact account, NaN if it did not change."""
        change = float(self.loss_change.sum(dtype=np.float64))
        return float(self.total.sum(dtype=np.float64)) / change if change else math.nan

    @property
    def event_correlation(self) -> float:
        """Correlation over events and intervals of credit and true fall of the loss; NaN if either is constant."""
        if not self.total.std() or not self.loss_change.std():
            return math.nan
        return float(np.corrcoef(self.total.ravel(), self.loss_change.ravel())[0, 1])

    @property
    def reliable(self) -> bool:
        """Whether factors of this field can be called quanta."""
        return 0.5 <= self.completeness <= 2 and self.event_correlation >= LEAST_CORRELATION

    def save(self, file: Path, *, made_by: str, **about: Any) -> None:
        """Keep the field as an artefact, with further facts about it."""
        arrays = {name: getattr(self, name) for name in ("steps", "values", "other", "losses")}
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        write_tensors(file, tensors, made_by=made_by, rule=self.rule, layers=list(self.layers), **about)

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
    rule: Rule = "path",
    tolerance: float = 0.01,
    memory: float = 2e9,
    engine: Executor | None = None,
    parts: Path | None = None,
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
        parts: Folder that keeps measured intervals, so that an interrupted measurement is taken up again. Parts of
            other checkpoints, events, losses, layers or of another rule are refused.
        progress: Told how many intervals are measured, of how many.

    >>> import tempfile
    >>> from quantascope.sources.losses import ModuleLosses
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
    check_rule(rule)
    if not 0 < tolerance < math.inf:
        raise InvalidConfig(f"tolerance {tolerance:g} is not a share of the loss change; give one above 0")
    if len(trajectory) < 2:
        raise InvalidConfig(f"a priority field needs at least two checkpoints, not {len(trajectory)}")
    if rule == "gradient":
        _ = trajectory.learning_rate_mass
    measured = train if events is None else events
    start = trajectory.load(0)
    asked = TiedLosses.of(event_losses, start)
    members = resolve_groups(groups, start, asked)
    chunk = _fitting(asked, asked.tensors(start), train, measured, rule, memory)
    interval = Interval(trajectory, asked, members, train, measured, rule, tolerance, chunk, parts)
    interval.checked_losses(0)
    interval.check_shapes(asked.tensors(start), len(trajectory) - 1)
    last = interval.checked_losses(len(trajectory) - 1)
    columns = _measure(interval, len(trajectory) - 1, engine, progress)
    field = PriorityField(
        rule=rule,
        layers=tuple(members),
        steps=trajectory.steps,
        values=torch.stack([column["values"] for column in columns], -1).numpy(),
        other=torch.stack([column["other"] for column in columns], -1).numpy(),
        losses=torch.stack([*(column["losses"] for column in columns), last], -1).numpy(),
    )
    if rule == "path":
        _warn_of_error(field, tolerance)
    return field


def check_rule(rule: str) -> None:
    """Refuse a rule that there is not."""
    if rule not in get_args(Rule):
        raise InvalidConfig(f"there is no rule '{rule}'; there are {' and '.join(get_args(Rule))}")


def resolve_groups(
    groups: Groups, tensors: Mapping[str, Tensor], losses: TiedLosses | None = None
) -> dict[str, tuple[str, ...]]:
    """The parameters of each layer; every layer has some, and no two share one."""
    aliases, buffers = (losses.aliases, losses.buffers) if losses else ({}, frozenset())
    floating = {name: aliases.get(name, name) for name, value in tensors.items() if value.is_floating_point()}
    parameters = {name: one for name, one in floating.items() if one not in buffers}
    parameters |= {alias: one for alias, one in aliases.items() if one in parameters}
    members: dict[str, tuple[str, ...]] = {}
    owner: dict[str, str] = {}
    for layer, given in groups.items():
        patterns = [given] if isinstance(given, str) else list(given)
        matched = (one for name, one in parameters.items() if any(fnmatchcase(name, by) for by in patterns))
        names = tuple(dict.fromkeys(matched))
        if not names:
            some = ", ".join(list(parameters)[:3])
            raise InvalidConfig(
                f"layer '{layer}' ({', '.join(patterns)}) matches no parameter; there are {some}, …"
            )
        for name in names:
            if name in owner:
                tied = "".join(f", tied to '{alias}'," for alias, one in aliases.items() if one == name)
                raise InvalidConfig(
                    f"parameter '{name}'{tied} is in layer '{owner[name]}' and in '{layer}'; give it to one"
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
    event_losses: TiedLosses
    members: Mapping[str, tuple[str, ...]]
    train: Examples
    events: Examples
    rule: Rule
    tolerance: float
    chunk: int
    parts: Path | None = None

    @cached_property
    def _pieces(self) -> list[Any]:
        return _chunks(self.events, self.chunk)

    @cached_property
    def _trained(self) -> list[Any]:
        return self._pieces if self.train is self.events else _chunks(self.train, self.chunk)

    def tensors(self, index: int) -> Parameters:
        """The tensors of a checkpoint, each once."""
        return self.event_losses.tensors(self.trajectory.load(index))

    @torch.no_grad()
    def losses(self, tensors: Parameters, *, trained: bool = False) -> Float[Tensor, " events"]:
        """The loss of every event that is measured, or that was trained on."""
        pieces = self._trained if trained else self._pieces
        return torch.cat([self.event_losses(tensors, piece) for piece in pieces])

    def __call__(self, index: int) -> dict[str, Tensor]:
        """Credit by layer, credit of other parameters, and the losses before, of one interval."""
        if self.parts is None:
            return self._measure(index)
        file = self.parts / f"interval-{index:05d}.safetensors"
        made_from = self._made_from(index)
        if file.exists():
            return self._kept(file, made_from, index)
        column = self._measure(index)
        if self._needs_trained:
            column["trained"] = self.losses(self.tensors(index), trained=True)
        write_tensors(file, column, made_by="", **made_from)
        return column

    @property
    def _needs_trained(self) -> bool:
        return self.rule == "gradient" and self.train is not self.events

    def _made_from(self, index: int) -> dict[str, Any]:
        """What a part is made from, as far as it can be written down; its events and losses are compared."""
        about: dict[str, Any] = {"rule": self.rule, "layers": [[name, *own] for name, own in self.members.items()]}
        ends = [index] if self.rule == "gradient" else [index, index + 1]
        about["checkpoints"] = [_digest(self.tensors(end)) for end in ends]
        if self.rule == "gradient":
            return {**about, "learning-rate mass": float(self.trajectory.learning_rate_mass[index])}
        return {**about, "tolerance": self.tolerance}

    def _kept(self, file: Path, made_from: Mapping[str, Any], index: int) -> dict[str, Tensor]:
        """The part in a file, if what is asked for now would give the same."""
        column, found = read_tensors(file, made_by=None)
        other = [what for what, value in made_from.items() if found.get(what) != value]
        if not other:
            start = self.tensors(index)
            now = {"losses": self.losses(start)}
            if self._needs_trained:
                now["trained"] = self.losses(start, trained=True)
            other = ["events or losses" for name, value in now.items() if not _alike(column.get(name), value)]
        if other:
            raise RunMismatch(
                f"{file} is part of another measurement (other {other[0]}); remove {self.parts} or name another "
                "folder"
            )
        return column

    def _measure(self, index: int) -> dict[str, Tensor]:
        start = self.tensors(index)
        if self.rule == "gradient":
            losses, credit = self._first_order(start, index)
            self._check_losses(losses, index)
        else:
            losses = self.losses(start)
            self._check_losses(losses, index)
            end = self.check_shapes(start, index + 1, since=index)
            moved = {**start, **self.event_losses.parameters(end)}
            after = self.losses(moved)
            credit = self._along(start, moved, losses, after)
            if len(self.event_losses.parameters(start)) < len(start):
                credit[-1] += after - self.losses(end)
        for layer, one in zip([*self.members, None], credit, strict=True):
            self._check_gradient(one, layer, index, "an event")
        return {"values": credit[:-1], "other": credit[-1], "losses": losses}

    def _first_order(
        self, start: Parameters, index: int
    ) -> tuple[Float[Tensor, " events"], Float[Tensor, "groups events"]]:
        """Losses at the start, and the credit of a step of the interval's mass down the gradient."""
        at, event_losses = self.event_losses.parameters(start), self.event_losses.beside(start)
        here = Linearized(event_losses, at, self._pieces)
        own = self.train is self.events
        gradient = (here if own else Linearized(event_losses, at, self._trained)).gradient()
        mass = float(self.trajectory.learning_rate_mass[index])
        directions = self._directions({name: mass * value for name, value in gradient.items()})
        if not own:
            for layer, way in zip([*self.members, None], directions, strict=True):
                for value in way.values():
                    self._check_gradient(value, layer, index, "the training loss")
        return here.along(directions)

    def _along(
        self,
        start: Parameters,
        end: Parameters,
        before: Float[Tensor, " events"],
        after: Float[Tensor, " events"],
    ) -> Float[Tensor, "groups events"]:
        """Credit along the way of the parameters, of as many nodes as bring its sum to the fall of the loss."""
        fall = before - after
        enough = _allowed_error(torch.stack([before, after], 1).numpy(), self.tolerance)[0]
        way = {name: value - end[name] for name, value in self.event_losses.parameters(start).items()}
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
            if float((credit.sum(0) - fall).norm()) <= enough or 2 * count > MOST_NODES:
                return credit
            count *= 2

    def _at(self, start: Parameters, way: Parameters, place: float) -> Linearized:
        at = {name: start[name] - place * moved for name, moved in way.items()}
        return Linearized(self.event_losses.beside(start), at, self._pieces)

    def _directions(self, way: Parameters) -> list[Parameters]:
        """The way of each layer alone, and last that of all parameters outside them."""
        inside = {name for names in self.members.values() for name in names}
        groups = [*self.members.values(), tuple(name for name in way if name not in inside)]
        return [{name: way[name] for name in names} for names in groups]

    def checked_losses(self, index: int) -> Float[Tensor, " events"]:
        """The losses at a checkpoint, all of them finite."""
        losses = self.losses(self.tensors(index))
        self._check_losses(losses, index)
        return losses

    def _check_losses(self, losses: Float[Tensor, " events"], index: int) -> None:
        bad = (~torch.isfinite(losses)).nonzero().flatten()
        if len(bad):
            event, step = int(bad[0]), self.trajectory.steps[index]
            raise InvalidConfig(
                f"the loss of event {event} is {float(losses[event])} at step {step} ({len(bad)} of {len(losses)} "
                "are not finite); leave these events out or check the checkpoint with quantascope audit"
            )

    def _check_gradient(self, values: Tensor, layer: str | None, index: int, of: str) -> None:
        if not bool(torch.isfinite(values).all()):
            where = "parameters outside every layer" if layer is None else f"layer '{layer}'"
            before, after = self.trajectory.steps[index : index + 2]
            raise InvalidConfig(
                f"the gradient of {of} in {where} is not finite between step {before} and {after}; leave out the "
                "examples that make it so, or check the losses and the checkpoint"
            )

    def check_shapes(self, first: Parameters, index: int, since: int = 0) -> Parameters:
        """The tensors of a checkpoint, which must be of the same shapes as those of an earlier one."""
        here = self.tensors(index)
        for name, value in first.items():
            if name not in here or here[name].shape != value.shape:
                found = f"of shape {list(here[name].shape)}" if name in here else "missing"
                raise DamagedArtefact(
                    f"tensor '{name}' is {found} at step {self.trajectory.steps[index]} and of shape "
                    f"{list(value.shape)} at step {self.trajectory.steps[since]}: one checkpoint is of another "
                    "architecture"
                )
        return here


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


def _allowed_error(
    losses: Float[np.ndarray, "events checkpoints"], tolerance: float
) -> Float[np.ndarray, " intervals"]:
    """How far credit may be from the fall of the loss, in norm over events: a share of it, or rounding."""
    size = np.abs(losses).max(0)
    rounding = 10 * np.finfo(losses.dtype).eps * len(losses) ** 0.5 * np.maximum(size[:-1], size[1:])
    return np.maximum(tolerance * np.linalg.norm(np.diff(losses, axis=1), axis=0), rounding)


def _warn_of_error(field: PriorityField, tolerance: float) -> None:
    """Say where the most nodes that are tried were too few."""
    error = np.linalg.norm(field.total - field.loss_change, axis=0)
    far = np.flatnonzero(error > 1.01 * _allowed_error(field.losses, tolerance))
    if len(far):
        worst = far[error[far].argmax()]
        change = np.linalg.norm(field.loss_change[:, worst])
        warnings.warn(
            f"credit misses the tolerance {tolerance:g} at {MOST_NODES} nodes in {len(far)} of {len(error)} "
            f"intervals, most from step {field.steps[worst]} to {field.steps[worst + 1]} (error "
            f"{error[worst]:.2g} of a loss change of {change:.2g}); keep checkpoints more often there",
            stacklevel=3,
        )


def _digest(tensors: Parameters) -> str:
    """A hash of all names and values."""
    found = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _alike(kept: Tensor | None, now: Tensor) -> bool:
    """Whether losses are the same but for rounding, which another cut in pieces changes."""
    return kept is not None and kept.shape == now.shape and torch.allclose(kept, now, rtol=1e-4, atol=1e-6)


def _chunks(examples: Examples, chunk: int) -> list[Any]:
    return [examples[start : start + chunk] for start in range(0, len(examples), chunk)]


def _fitting(
    event_losses: TiedLosses,
    start: Parameters,
    train: Examples,
    events: Examples,
    rule: Rule,
    memory: float,
) -> int:
    """How many examples fit the memory budget with the graph of their derivatives."""
    fitting = []
    for name, examples in {"train": train, "events": events}.items():
        if not len(examples):
            raise InvalidConfig(f"there are no examples in {name}; give at least one")
        if name == "events" or (rule == "gradient" and train is not events):
            work = partial(_linearize, event_losses, start, examples)
            fitting.append(examples_within(memory, work, available=len(examples)))
    return min(fitting)


def _linearize(event_losses: TiedLosses, at: Parameters, examples: Examples, some: slice) -> None:
    Linearized(event_losses.beside(at), event_losses.parameters(at), [examples[some]]).along([at])
