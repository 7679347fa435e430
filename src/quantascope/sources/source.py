"""`Source`: everything that discovery needs to know about a trained network.

    trajectory   its checkpoints, between which priority is measured
    losses       one loss per event from named parameters
    layers       the parameters of each layer
    task         the training data and the evaluation panels

`discover` and `explain` need only these. `fit`, `trace` and `intervene` also run the network and need `model_at`,
which returns a `ResidualModel` at any checkpoint.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from quantascope.models.device import CPU
from quantascope.models.residual import ResidualModel
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.run_directory import locked
from quantascope.sources.losses import EventLosses
from quantascope.tasks.events import Events
from quantascope.tasks.sequence import SequenceTask
from quantascope.tasks.task import Examples, SymbolTask, Task
from quantascope.training import Trajectory

HiddenUnits = Mapping[str, Int[np.ndarray, " entries"]]
"""Parameters of a layer by name, and the hidden unit of each of their entries."""
Losses = Float[np.ndarray, " steps"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A trained network as discovery sees it.

    Results are saved in `folder` and carry the `identity` of the source. `replay_steps` are the checkpoints that a
    Q-model replays; `series` holds all saved checkpoints. `step_loss` is the training loss before each update, if
    known, and `hidden_units` gives the units of each layer for packet complexity. The network and every Q-model
    fitted to it run on `device`; examples and results are on the CPU. `named` is the name of the source in
    commands, by default its folder. `measured_on` names a subset of the training panel on which events are
    measured and fitted.
    """

    folder: Path
    identity: str
    trajectory: Trajectory
    losses: EventLosses
    layers: Mapping[str, str | Sequence[str]]
    task: Task
    trained_on: str = "training"
    measured_on: str | None = None
    model_at: Callable[[int], ResidualModel] | None = None
    replay_steps: tuple[int, ...] = ()
    series: Trajectory | None = None
    hidden_units: Mapping[str, HiddenUnits] = field(default_factory=dict)
    step_loss: Losses | None = None
    device: torch.device = CPU
    named: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.layers:
            raise InvalidConfig("a source needs at least one layer; name the parameters of each")
        for panel, purpose in ((self.trained_on, "train on"), (self.measured_on, "measure")):
            if panel is not None and panel not in self.task.panels:
                raise InvalidConfig(
                    f"there is no panel '{panel}' to {purpose}; there are {', '.join(self.task.panels)}"
                )

    @property
    def checkpoints(self) -> Trajectory:
        """All saved checkpoints, including replayed ones."""
        return self.series or self.trajectory

    def command(self, verb: str, *more: str) -> str:
        """A shell command on this source."""
        return shlex.join(["quantascope", verb, *(self.named or (str(self.folder),)), *more])

    @property
    def steps(self) -> list[int]:
        """Steps between which priority is measured."""
        return self.trajectory.steps.tolist()

    @cached_property
    def _trained(self) -> tuple[tuple[Any, ...], frozenset[Any]]:
        inputs = tuple(self.task.panel(self.trained_on))
        return inputs, frozenset(map(self.task.key, inputs))

    @cached_property
    def _measured(self) -> tuple[Any, ...]:
        trained, keys = self._trained
        if self.measured_on is None:
            return trained
        measured = tuple(self.task.panel(self.measured_on))
        if any(self.task.key(source) not in keys for source in measured):
            raise InvalidConfig(
                f"panel '{self.measured_on}' holds inputs that are not of '{self.trained_on}'; measure a part of "
                "what the network was trained on"
            )
        return measured

    def inputs(self, panel: str) -> tuple[Any, ...]:
        """The inputs of a panel: the measured ones of the training panel, or the unseen ones of another panel."""
        if panel not in self.task.panels:
            raise InvalidConfig(f"there is no panel '{panel}'; there are {', '.join(self.task.panels)}")
        trained, keys = self._trained
        if panel in ("training", self.measured_on or self.trained_on):
            return self._measured
        if panel == self.trained_on:
            return trained
        found = tuple(self.task.panel(panel))
        if panel in self.task.roles.whole:
            return found
        kept = tuple(source for source in found if self.task.key(source) not in keys)
        if not kept:
            raise InvalidConfig(f"all inputs of panel '{panel}' are training inputs; name another panel")
        return kept

    def examples(self, panel: str = "training") -> Examples:
        """The examples of a panel (cached)."""
        if panel not in self._examples:
            self._examples[panel] = self.task.events(self.inputs(panel))
        return self._examples[panel]

    @cached_property
    def _examples(self) -> dict[str, Examples]:
        return {}

    def events(self, panel: str = "training") -> Events:
        """The examples of a panel of a sequence task."""
        return as_events(self.examples(panel), self.folder)

    def labels(self, panel: str = "training") -> tuple[str, ...]:
        """A label for every event of a panel."""
        if isinstance(self.task, SequenceTask):  # like the task's labels, but from cached events
            return tuple(self.task.vocabulary[token] for token in self.events(panel).target.tolist())
        return self.task.labels(self.inputs(panel))

    @property
    def sequence_task(self) -> SymbolTask:
        """The task, if the network reads and writes symbols."""
        if not isinstance(self.task, SymbolTask):
            raise InvalidConfig(
                f"{self.folder} does not read and write symbols, so it has no Q-model; discover and explain work"
            )
        return self.task

    def model(self, step: int | None = None) -> ResidualModel:
        """The network at a step, on the device; by default at the last step."""
        if self.model_at is None:
            raise InvalidConfig(
                f"the source in {self.folder} has no `model_at`, and a Q-model is fitted to a network that runs; "
                "give Source(…, model_at=…), which returns a ResidualModel at a step"
            )
        found = self.model_at(self.steps[-1] if step is None else step)
        if self.device == CPU:
            return found
        if not isinstance(found, nn.Module):
            raise InvalidConfig(
                f"the model in {self.folder} is not an nn.Module, so it stays on the CPU; use --device cpu"
            )
        return found.to(self.device)

    @property
    def rising_share(self) -> float | None:
        """Share of updates after which the training loss was higher; None if losses are unknown."""
        if self.step_loss is None:
            return None
        return float((np.diff(self.step_loss) > 0).mean()) if len(self.step_loss) > 1 else 0.0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other writers."""
        with locked(self.folder):
            yield


def as_events(examples: Any, folder: Path) -> Events:
    """The examples as prediction events; raises for other kinds of examples."""
    if not isinstance(examples, Events):
        raise InvalidConfig(
            f"the model in {folder} does not predict symbols, so it has no Q-model; discover and explain work"
        )
    return examples
