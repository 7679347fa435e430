"""Saves the trajectory of any training loop, and resumes only the run that it saved."""

import math
import operator
from collections.abc import Collection
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex

import torch
from torch import nn

from quantascope.runs.artefact import read_facts, write_tensors
from quantascope.runs.errors import InvalidConfig
from quantascope.training.checkpoint_tensors import RESTORE, load_shards
from quantascope.training.trajectory import checkpoint_file, own_files, shared_names


class Recorder:
    """Saves a model's parameters at the given steps or every n steps; takes three lines in a training loop.

    To resume a run, give the step as `at`. The summed learning rates come from the checkpoint of that step, or, if
    there is none, from `mass`.

    >>> import tempfile
    >>> from quantascope.training import Trajectory
    >>> model, folder = nn.Linear(1, 1), tempfile.mkdtemp()
    >>> recorder = Recorder(model, folder, steps=2)
    >>> for _ in range(4):
    ...     recorder.step(0.1)
    >>> trajectory = Trajectory.open(folder)
    >>> trajectory.steps, trajectory.learning_rate_mass
    (array([0, 2, 4]), array([0.2, 0.2]))
    """

    def __init__(
        self,
        model: nn.Module,
        folder: Path | str,
        *,
        steps: SupportsIndex | Collection[SupportsIndex] = 100,
        made_by: str = "",
        at: int = 0,
        mass: float | None = None,
    ) -> None:
        self._model, self._folder, self._made_by = model, Path(folder), made_by
        self._steps = _asked_steps(steps)
        # The folder of a run belongs to one config, which reproduces later checkpoints.
        kept = None if made_by else self._last_kept(at)
        self.at, self.mass = at, (mass or 0.0) if kept is None else self._taken_up(kept, at, mass)
        self._keep()

    def step(self, learning_rate: SupportsFloat) -> None:
        """Record one update with this learning rate."""
        rate = float(learning_rate)
        if not 0 <= rate < math.inf:
            raise InvalidConfig(
                f"the learning rate of step {self.at + 1} is {rate}; give a finite one, at least 0"
            )
        self.at += 1
        self.mass += rate
        self._keep()

    def _last_kept(self, at: int) -> int | None:
        """The last saved step; raises if it is after the step to resume from."""
        steps = [int(file.stem[5:]) for file in own_files(self._folder) if file.stem[5:].isdecimal()]
        last = max(steps, default=0)
        if last > at:
            which = f"those after step {at}" if at else "them"
            raise InvalidConfig(
                f"{self._folder} has checkpoints up to step {last} already; name another folder, or remove {which}"
            )
        return last if steps and at else None

    def _taken_up(self, last: int, at: int, mass: float | None) -> float:
        """The learning rates summed up to a step; raises if model or mass do not continue the saved run."""
        file = checkpoint_file(self._folder, last)
        known = float(read_facts(file, remedy=RESTORE)["mass"])
        if last == at:
            refuse_another_model(self._model, file)
            if mass is None or math.isclose(mass, known, rel_tol=1e-6):
                return known
        elif mass is not None and mass >= known:
            return mass
        said = "not given" if mass is None else f"{mass:g}"
        raise InvalidConfig(
            f"the mass of learning rates up to step {at} is {said}, and {known:g} up to step {last} in {file}; "
            "give what goes on from that"
        )

    def _keep(self) -> None:
        due = self.at % self._steps == 0 if isinstance(self._steps, int) else self.at in self._steps
        if due:
            file = checkpoint_file(self._folder, self.at)
            state = self._model.state_dict()
            tied = shared_names(state)
            kept = {name: tensor for name, tensor in state.items() if name not in tied}
            about = {"step": self.at, "mass": self.mass, **({"tied": tied} if tied else {})}
            write_tensors(file, kept, made_by=self._made_by, **about)


def refuse_another_model(model: nn.Module, file: Path) -> None:
    """Raise if a model's tensors differ from a checkpoint."""
    kept, own = load_shards((file,)), model.state_dict()
    for name in sorted(kept.keys() | own.keys()):
        if name not in kept or name not in own or not torch.equal(kept[name], own[name].cpu()):
            raise InvalidConfig(
                f"tensor '{name}' of the model differs from {file}; load this checkpoint, or name another folder"
            )


def _asked_steps(steps: Any) -> int | frozenset[int]:
    """The steps to save, or the interval between them, as plain integers."""
    try:
        asked = frozenset(map(operator.index, steps)) if isinstance(steps, Collection) else operator.index(steps)
    except TypeError:
        raise InvalidConfig(f"{steps!r} is no number of steps; give an integer, or a set of integers") from None
    if asked == frozenset():
        raise InvalidConfig("there are no steps at which to save a checkpoint; name at least one")
    if isinstance(asked, int) and asked < 1:
        raise InvalidConfig(f"cannot keep a checkpoint every {asked} steps; give at least 1")
    return asked
