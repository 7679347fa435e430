"""The state of a training run, saved in one file."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.config import Config, Count
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, message_of
from quantascope.runs.run_directory import RunDirectory
from quantascope.training.checkpoint_tensors import with_tied
from quantascope.training.history import History
from quantascope.training.trajectory import shared_names

FILE = "state.safetensors"
_ADAM, _SGD = {"step", "exp_avg", "exp_avg_sq"}, {"momentum_buffer"}
"""What torch's optimizers keep of each parameter."""


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


class _Numbers(Config):
    """The numbers of a state file: those of the state, the order of its values and the names of tied tensors."""

    step: Count
    mass: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    loss_sum: Annotated[float, Field(allow_inf_nan=False)]
    loss_count: Count
    order: tuple[str, ...] | None = None
    tied: dict[str, str] = Field(default_factory=dict)


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


def load_state(
    run: RunDirectory, model: nn.Module, optimizer: torch.optim.Optimizer, *, steps: int
) -> TrainingState | None:
    """Restore model and optimizer from the state of a run of so many steps; None if it has none yet."""
    file = run.path / FILE
    if not file.exists():
        return None
    tensors, found = read_tensors(file, made_by=run.hash)
    try:
        numbers = _Numbers.parse(found)
        parameters = with_tied(file, _under("model/", tensors), numbers.tied)
        kept = _under("values/", tensors)
        _check_progress(numbers, tensors, kept, steps)
        model.load_state_dict(parameters)
        _load_moments(optimizer, _under("optimizer/", tensors))
        torch.set_rng_state(tensors["generator"])
        # Tensors are read by name; the columns of a resumed run come in the order of one that was never stopped.
        order = list(kept) if numbers.order is None else numbers.order
        return TrainingState(
            step=numbers.step,
            mass=numbers.mass,
            loss_sum=numbers.loss_sum,
            loss_count=numbers.loss_count,
            evaluated=tensors["evaluated"].tolist(),
            train_loss=tensors["train_loss"].tolist(),
            values={name: list(kept[name].numpy()) for name in order},
        )
    except (InvalidConfig, LookupError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        reason = message_of(error)
        raise DamagedArtefact(
            f"{file} does not hold the state of this run ({reason}); move it away to start again"
        ) from error


def _check_progress(
    numbers: _Numbers, tensors: Mapping[str, Tensor], values: Mapping[str, Tensor], steps: int
) -> None:
    """Raise if step, losses and evaluations do not fit each other, or a run of so many steps."""
    evaluated, train_loss = tensors["evaluated"], tensors["train_loss"]
    if evaluated.dim() != 1 or evaluated.dtype != torch.int64 or train_loss.shape != evaluated.shape:
        raise ValueError("its evaluations are not numbered")
    places = [-1, *evaluated.tolist(), numbers.step + 1]
    if numbers.step > steps:
        raise ValueError(f"it is of step {numbers.step}, and the run has {steps}")
    if any(after <= before for before, after in itertools.pairwise(places)):
        raise ValueError(f"its evaluations do not rise to step {numbers.step}")
    if numbers.loss_count != numbers.step - max(places[-2], 0):
        raise ValueError(f"it counts {numbers.loss_count} losses since its last evaluation")
    if numbers.order is not None and sorted(numbers.order) != sorted(values):
        raise ValueError("its values have other names than it says")
    if odd := [name for name, value in values.items() if value.shape[:1] != evaluated.shape]:
        raise ValueError(f"'{odd[0]}' is not of its {len(evaluated)} evaluations")


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _load_moments(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split("/")
        moments.setdefault(int(index), {})[name] = value
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    expected = _ADAM if isinstance(optimizer, torch.optim.Adam) else _SGD
    for index, own in moments.items():
        if {*own} != expected:
            raise ValueError(f"parameter {index} has moments {', '.join(own)}, not {', '.join(sorted(expected))}")
        for name, value in own.items():
            shape = torch.Size() if name == "step" else parameters[index].shape
            if value.shape != shape or not value.is_floating_point():
                raise ValueError(f"{name} of parameter {index} is {value.dtype} {list(value.shape)}")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
