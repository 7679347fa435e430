"""The state of a training run, saved in one file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact, message_of
from quantascope.runs.run_directory import RunDirectory
from quantascope.training.checkpoint_tensors import with_tied
from quantascope.training.history import History
from quantascope.training.trajectory import shared_names

FILE = "state.safetensors"


@dataclass
class TrainingState:
    """Progress of a run beyond parameters and optimizer: updates taken, evaluations made, loss accumulated."""

    step: int = 0
    mass: float = 0.0
    loss_sum: float = 0.0
    loss_count: int = 0
    evaluated: list[int] = field(default_factory=list)
    train_loss: list[float] = field(default_factory=list)
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def note_update(self, loss: float) -> None:
        """Record one more update with this loss."""
        self.step += 1
        self.loss_sum += loss
        self.loss_count += 1

    def note_evaluation(self, values: Mapping[str, np.ndarray]) -> None:
        """Record an evaluation after `step` updates."""
        if self.evaluated and self.evaluated[-1] == self.step:
            return
        self.evaluated.append(self.step)
        self.train_loss.append(self.loss_sum / self.loss_count if self.loss_count else float("nan"))
        self.loss_sum, self.loss_count = 0.0, 0
        for name, value in values.items():
            self.values.setdefault(name, []).append(np.asarray(value))

    def history(self) -> History:
        """The evaluations so far."""
        values = {name: np.stack(column) for name, column in self.values.items()}
        return History(np.array(self.evaluated, dtype=np.int64), np.array(self.train_loss), values)


def save_state(
    run: RunDirectory, model: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Save everything needed to resume, as one atomic file."""
    history = state.history()
    parameters = model.state_dict()
    tied = shared_names(parameters)
    tensors = {f"model/{name}": value for name, value in parameters.items() if name not in tied}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{name}": torch.as_tensor(value) for name, value in moments.items()}
    tensors |= {f"values/{name}": torch.from_numpy(value) for name, value in history.values.items()}
    tensors |= {
        "evaluated": torch.from_numpy(history.step),
        "train_loss": torch.from_numpy(history.train_loss),
        "generator": torch.get_rng_state(),
    }
    numbers: dict[str, Any] = {
        "step": state.step,
        "mass": state.mass,
        "loss_sum": state.loss_sum,
        "loss_count": state.loss_count,
        "order": list(history.values),
    } | ({"tied": tied} if tied else {})
    write_tensors(run.path / FILE, tensors, made_by=run.hash, **numbers)


def load_state(run: RunDirectory, model: nn.Module, optimizer: torch.optim.Optimizer) -> TrainingState | None:
    """Restore model and optimizer from a run's state; None if it has none yet."""
    file = run.path / FILE
    if not file.exists():
        return None
    tensors, numbers = read_tensors(file, made_by=run.hash)
    try:
        parameters = with_tied(file, _under("model/", tensors), numbers.pop("tied", {}))
        model.load_state_dict(parameters)
        _load_moments(optimizer, _under("optimizer/", tensors))
        torch.set_rng_state(tensors["generator"])
        kept = _under("values/", tensors)
        # Tensors are read by name; the columns of a resumed run come in the order of one that was never stopped.
        values = {name: list(kept[name].numpy()) for name in numbers.pop("order", list(kept))}
        evaluated, train_loss = tensors["evaluated"].tolist(), tensors["train_loss"].tolist()
        return TrainingState(**numbers, evaluated=evaluated, train_loss=train_loss, values=values)
    except (LookupError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        reason = message_of(error)
        raise DamagedArtefact(
            f"{file} does not hold the state of this run ({reason}); move it away to start again"
        ) from error


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _load_moments(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split("/")
        moments.setdefault(int(index), {})[name] = value
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for index, own in moments.items():
        for name, value in own.items():
            if value.dim() and value.shape != parameters[index].shape:
                raise ValueError(f"{name} of parameter {index} is of shape {list(value.shape)}")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
