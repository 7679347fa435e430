"""A user's network as a source: any `nn.Module` with its checkpoints and a loss per event."""

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from quantascope.models.device import CPU, find_device
from quantascope.models.residual import ResidualModel
from quantascope.runs.config import fingerprint
from quantascope.sources.losses import ModuleLosses, examples_digest
from quantascope.sources.source import HiddenUnits, Source
from quantascope.tasks.task import Task
from quantascope.training import Trajectory


def module_source(
    module: nn.Module,
    checkpoints: Path | str,
    *,
    task: Task,
    layers: Mapping[str, str | Sequence[str]],
    losses: Callable[[Any, Any], Tensor] | None = None,
    folder: Path | str | None = None,
    hidden_units: Mapping[str, HiddenUnits] | None = None,
    residual: Callable[[nn.Module], ResidualModel] | None = None,
    device: str | torch.device = CPU,
) -> Source:
    """Make a source from a module and a folder of its checkpoints, such as a `Recorder` writes.

    Args:
        module: The network; its current weights are ignored.
        checkpoints: Folder of checkpoints.
        task: The training data and the evaluation panels.
        layers: The parameters of each layer: names, or patterns with * and ?.
        losses: One loss per event from the module and a batch; by default cross-entropy on `Events`.
        folder: Folder for results. Default: beside the checkpoints.
        hidden_units: Parameters of each layer and the hidden unit of each entry, for packet complexity.
        residual: Function that makes a `ResidualModel` from the module, so that Q-models can be fitted.
        device: Device that the network runs on: cpu, cuda, cuda:N or mps. `losses` must create tensors there.
    """
    where = find_device(device)
    kept = Path(checkpoints).absolute()
    trajectory = Trajectory.open(kept)
    trajectory.check()
    steps = trajectory.steps.tolist()
    shapes = {name: list(tensor.shape) for name, tensor in module.state_dict().items()}
    events = task.events(task.panel("training"))
    about = {"checkpoints": str(kept), "steps": steps, "tensors": shapes, "events": examples_digest(events)}

    def model_at(step: int) -> ResidualModel:
        assert residual is not None
        own = copy.deepcopy(module)  # models of several steps may be used at the same time
        own.load_state_dict(trajectory.at([step]).load(0))
        return residual(own)

    return Source(
        folder=Path(folder) if folder else kept.with_name(kept.name + ".quantascope"),
        identity=fingerprint(about),
        trajectory=trajectory,
        losses=ModuleLosses(module, losses),
        layers=layers,
        task=task,
        model_at=None if residual is None else model_at,
        replay_steps=tuple(step for step in steps if step > 0),
        hidden_units=hidden_units or {},
        device=where,
    )
