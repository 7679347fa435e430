"""The measurement of one interval between two checkpoints, as a job for an engine.

It loads the checkpoints, takes the derivatives of the rule, and checks that losses and derivatives are finite. The
path rule starts with two quadrature nodes and adds nodes until credit and loss change agree; all derivatives taken
are reused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.discovery.differences import Differences
from quantascope.discovery.linearized import Derivatives, Linearized, Parameters
from quantascope.discovery.quadrature import COUNTS, nodes
from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.structure import check_tensors
from quantascope.sources.losses import EventLosses, TiedLosses
from quantascope.tasks.task import Examples
from quantascope.training import Trajectory
from quantascope.training.digest import tensor_digest

Rule = Literal["gradient", "path"]


@dataclass(frozen=True, eq=False)
class Interval:
    """A function of an interval's index that measures the interval or loads its saved part."""

    trajectory: Trajectory
    event_losses: TiedLosses
    members: Mapping[str, tuple[str, ...]]
    train: Examples
    events: Examples
    rule: Rule
    tolerance: float
    chunk: int
    parts: Path | None = None
    derivatives: Derivatives = "backward"

    @cached_property
    def _pieces(self) -> list[Any]:
        return _chunks(self.events, self.chunk)

    @cached_property
    def _trained(self) -> list[Any]:
        return self._pieces if self.train is self.events else _chunks(self.train, self.chunk)

    @cached_property
    def _reached(self) -> dict[int, Float[Tensor, " events"]]:
        """The losses at the end of the last interval, at which the next one begins."""
        return {}

    def tensors(self, index: int) -> Parameters:
        """The tensors of a checkpoint, each once."""
        return self.event_losses.tensors(self.trajectory.load(index))

    @torch.no_grad()
    def losses(self, tensors: Parameters, *, trained: bool = False) -> Float[Tensor, " events"]:
        """The loss of every measured event, or of every training event."""
        pieces = self._trained if trained else self._pieces
        return torch.cat([self.event_losses(tensors, piece) for piece in pieces])

    def __call__(self, index: int) -> dict[str, Tensor]:
        """For one interval: credit by layer, credit of other parameters, and the losses at its start."""
        if self.parts is None:
            return self._measure(index)
        file = self.parts / f"interval-{index:05d}.safetensors"
        made_from = self._made_from(index)
        if file.exists():
            return self._kept(file, made_from, index)
        column = self._measure(index)
        if self._needs_trained:
            column["trained"] = self.losses(self.tensors(index), trained=True).cpu()
        write_tensors(file, column, made_by="", **made_from)
        return column

    @property
    def _needs_trained(self) -> bool:
        return self.rule == "gradient" and self.train is not self.events

    def _made_from(self, index: int) -> dict[str, Any]:
        """The serializable settings of a part; its events and losses are compared separately."""
        about: dict[str, Any] = {"rule": self.rule, "layers": [[name, *own] for name, own in self.members.items()]}
        about["derivatives"] = self.derivatives
        ends = [index] if self.rule == "gradient" else [index, index + 1]
        about["checkpoints"] = [tensor_digest(self.tensors(end)) for end in ends]
        if self.rule == "gradient":
            return {**about, "learning-rate mass": float(self.trajectory.learning_rate_mass[index])}
        return {**about, "tolerance": self.tolerance, "nodes": list(COUNTS)}

    def _kept(self, file: Path, made_from: Mapping[str, Any], index: int) -> dict[str, Tensor]:
        """The saved part, if the current settings would give the same result."""
        column, found = read_tensors(file, made_by=None)
        found = {"derivatives": "backward", **found}  # older parts have no such entry
        other = [what for what, value in made_from.items() if found.get(what) != value]
        if not other:
            start = self.tensors(index)
            now = {"losses": self.losses(start).cpu()}
            if self._needs_trained:
                now["trained"] = self.losses(start, trained=True).cpu()
            other = ["events or losses" for name, value in now.items() if not _alike(column.get(name), value)]
        if other:
            raise RunMismatch(
                f"{file} belongs to another measurement (different {other[0]}); move {self.parts} away or "
                "choose another folder"
            )
        check_tensors(file, column, self._tensors, sizes={"layers": len(self.members)})
        return column

    @property
    def _tensors(self) -> dict[str, str]:
        """The arrays of a part."""
        trained = {"trained": "float examples"} if self._needs_trained else {}
        return {"values": "float layers events", "other": "float events", "losses": "float events", **trained}

    def _measure(self, index: int) -> dict[str, Tensor]:
        return self.counted(index)[0]

    def counted(self, index: int) -> tuple[dict[str, Tensor], int]:
        """Measure one interval; also return the number of points at which derivatives were taken."""
        start = self.tensors(index)
        points = 1
        if self.rule == "gradient":
            losses, credit = self._first_order(start, index)
            self._check_losses(losses, index)
        else:
            known = self._reached.pop(index, None)
            losses = self.losses(start) if known is None else known
            self._check_losses(losses, index)
            end = self.check_shapes(start, index + 1, since=index)
            moved = {**start, **self.event_losses.parameters(end)}
            after = self.losses(moved)
            credit, points = self._along(start, moved, losses, after)
            reached = after
            if len(self.event_losses.parameters(start)) < len(start):
                reached = self.losses(end)
                credit[-1] += after - reached
            self._reached.clear()
            self._reached[index + 1] = reached
        for layer, one in zip([*self.members, None], credit, strict=True):
            self._check_gradient(one, layer, index, "an event")
        credit = credit.cpu()
        return {"values": credit[:-1], "other": credit[-1], "losses": losses.cpu()}, points

    def _first_order(
        self, start: Parameters, index: int
    ) -> tuple[Float[Tensor, " events"], Float[Tensor, "groups events"]]:
        """Losses at the start, and the credit of one gradient step with the interval's learning-rate mass."""
        at, event_losses = self.event_losses.parameters(start), self.event_losses.beside(start)
        here = linearize(self.derivatives, event_losses, at, self._pieces)
        own = self.train is self.events
        trained = here if own else linearize(self.derivatives, event_losses, at, self._trained)
        gradient = trained.gradient()
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
    ) -> tuple[Float[Tensor, "groups events"], int]:
        """Credit along the parameters' path, with enough nodes that it sums to the decrease of the loss.

        The second value is the number of nodes.
        """
        fall = before - after
        enough = float(allowed_error(torch.stack([before, after], 1).cpu().numpy(), self.tolerance)[0])
        way = {name: value - end[name] for name, value in self.event_losses.parameters(start).items()}
        directions = self._directions(way)
        found, sizes, credit = list[Tensor](), dict[int, float](), fall
        for rule in range(len(COUNTS)):
            places, weights = nodes(rule)
            for place in places[len(found) :]:
                found.append(self._at(start, way, place, sizes).derivatives(directions))
            credit = torch.stack([weight * one for weight, one in zip(weights, found, strict=True)]).sum(0)
            if _misses(credit, fall) <= enough:
                break
        return credit, len(found)

    def _at(
        self, start: Parameters, way: Parameters, place: float, sizes: dict[int, float]
    ) -> Linearized | Differences:
        at = {name: start[name] - place * moved for name, moved in way.items()}
        return linearize(self.derivatives, self.event_losses.beside(start), at, self._pieces, sizes)

    def _directions(self, way: Parameters) -> list[Parameters]:
        """The displacement of each layer's parameters, and last of all parameters outside the layers."""
        inside = {name for names in self.members.values() for name in names}
        groups = [*self.members.values(), tuple(name for name in way if name not in inside)]
        return [{name: way[name] for name in names} for names in groups]

    def checked_losses(self, index: int) -> Float[Tensor, " events"]:
        """The losses at a checkpoint, on the CPU; raises if any is not finite."""
        losses = self.losses(self.tensors(index)).cpu()
        self._check_losses(losses, index)
        return losses

    def _check_losses(self, losses: Float[Tensor, " events"], index: int) -> None:
        bad = (~torch.isfinite(losses)).nonzero().flatten()
        if len(bad):
            event, step = int(bad[0]), self.trajectory.steps[index]
            raise InvalidConfig(
                f"the loss of event {event} is {float(losses[event])} at step {step} ({len(bad)} of {len(losses)} "
                "are not finite); leave these events out or check the checkpoint with quantascope audit FOLDER"
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
        """The tensors of a checkpoint; raises if their shapes differ from an earlier checkpoint."""
        here = self.tensors(index)
        for name, value in first.items():
            if name not in here or here[name].shape != value.shape:
                found = f"of shape {list(here[name].shape)}" if name in here else "missing"
                raise DamagedArtefact(
                    f"tensor '{name}' is {found} at step {self.trajectory.steps[index]} and of shape "
                    f"{list(value.shape)} at step {self.trajectory.steps[since]}: one checkpoint has another "
                    "architecture"
                )
        return here


def linearize(
    derivatives: Derivatives,
    event_losses: EventLosses,
    at: Parameters,
    pieces: Sequence[Any],
    sizes: dict[int, float] | None = None,
) -> Linearized | Differences:
    """The losses at given parameters, with derivatives in the requested form.

    `Differences` reads the step of each direction from `sizes` and updates it.
    """
    if derivatives == "backward":
        return Linearized(event_losses, at, pieces)
    return Differences(event_losses, at, pieces, {} if sizes is None else sizes)


def allowed_error(
    losses: Float[np.ndarray, "events checkpoints"], tolerance: float
) -> Float[np.ndarray, " intervals"]:
    """The allowed distance of credit from the loss decrease, in norm over events: a share of it, or rounding."""
    size = np.abs(losses).max(0)
    rounding = 10 * np.finfo(losses.dtype).eps * len(losses) ** 0.5 * np.maximum(size[:-1], size[1:])
    return np.maximum(tolerance * np.linalg.norm(np.diff(losses, axis=1), axis=0), rounding)


def _misses(credit: Float[Tensor, "groups events"], fall: Float[Tensor, " events"]) -> float:
    """The distance of credit from the loss decrease, in norm over events."""
    return float((credit.sum(0) - fall).norm())


def _alike(kept: Tensor | None, now: Tensor) -> bool:
    """Whether losses agree up to rounding, which depends on how they are split into pieces."""
    if kept is None or (kept.shape, kept.dtype) != (now.shape, now.dtype):
        return False
    return torch.allclose(kept, now, rtol=1e-4, atol=1e-6)


def _chunks(examples: Examples, chunk: int) -> list[Any]:
    return [examples[start : start + chunk] for start in range(0, len(examples), chunk)]
