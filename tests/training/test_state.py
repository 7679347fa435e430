"""The state of a training is resumed if it fits the run, and refused in one line otherwise, also if resealed."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.config import Config
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.run_directory import RunDirectory
from quantascope.training import History, Objective, Pace, TrainingConfig, train

STEPS = 9


class Settings(Config):
    note: str = "a test"


def trained(folder: Path, *, until: int = STEPS) -> History:
    """Train a line of which every other step is evaluated; an earlier end is an interrupt."""
    torch.manual_seed(0)
    model = nn.Linear(1, 1)

    def loss(output: torch.Tensor, batch: torch.Tensor, step: int) -> torch.Tensor:
        if step == until:
            raise KeyboardInterrupt
        return (output - 3 * batch).square().mean()

    return train(
        model,
        batches=lambda step: torch.tensor([[1.0], [2.0]]),
        objective=Objective(forward=lambda model, batch: model(batch), terms={"fit": loss}),
        config=TrainingConfig(steps=STEPS, evaluate_every=2),
        evaluate=lambda model: {"slope": model.weight.detach().numpy().copy()},
        run=RunDirectory.open(folder, Settings()),
        pace=Pace(save=0.0),
    )


@pytest.fixture
def stopped(tmp_path) -> Path:
    """A run that was interrupted after five updates."""
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "run", until=5)
    return tmp_path / "run"


def reseal(folder: Path, *, leave_out: str = "", **changes) -> None:
    file = folder / "state.safetensors"
    tensors, numbers = read_tensors(file, made_by=None)
    tensors.pop(leave_out, None)
    for name, value in changes.items():
        (tensors if isinstance(value, torch.Tensor) else numbers)[name] = value
    kept = {name: value for name, value in numbers.items() if name != leave_out}
    write_tensors(file, tensors, made_by=Settings().hash(), **kept)


def test_a_state_that_is_resealed_unchanged_is_resumed_to_the_same_numbers(stopped, tmp_path):
    reseal(stopped)
    resumed, whole = trained(stopped), trained(tmp_path / "whole")
    assert resumed.step.tolist() == [0, 2, 4, 6, 8, 9]
    assert np.array_equal(resumed.train_loss, whole.train_loss, equal_nan=True)
    assert np.array_equal(resumed.values["slope"], whole.values["slope"])


@pytest.mark.parametrize("name", ["step", "mass", "loss_sum", "loss_count"])
@pytest.mark.parametrize("value", [None, [], {}, "x", True, float("nan"), float("inf")])
def test_a_number_of_another_kind_is_refused_by_name(stopped, name, value):
    reseal(stopped, **{name: value})
    with pytest.raises(DamagedArtefact, match=rf"state\.safetensors does not hold.*{name}.*move it away"):
        trained(stopped)


def test_a_missing_moment_is_refused_by_name(stopped):
    reseal(stopped, leave_out="optimizer/1/exp_avg_sq")
    with pytest.raises(DamagedArtefact, match="parameter 1 has moments exp_avg, step, not exp_avg, exp_avg_sq"):
        trained(stopped)


@pytest.mark.parametrize("name", ["step", "mass", "loss_sum", "loss_count"])
def test_a_missing_number_is_refused_and_does_not_start_the_training_again(stopped, name):
    reseal(stopped, leave_out=name)
    with pytest.raises(DamagedArtefact, match=f"{name}.*Field required"):
        trained(stopped)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"step": -1}, "step = -1"),
        ({"step": 10**30}, "step = 1"),
        ({"step": STEPS + 1}, "it is of step 10, and the run has 9"),
        ({"step": 3}, "its evaluations do not rise to step 3"),
        ({"step": 6}, "it counts 1 losses since its last evaluation"),
        ({"mass": -0.1}, "mass"),
        ({"loss_count": 2}, "it counts 2 losses"),
        ({"order": "slope"}, "order"),
        ({"order": ["slope", "slope"]}, "its values have other names"),
        ({"tied": {"a": 1}}, "tied"),
        ({"further": 1}, "unknown key 'further'"),
        ({"evaluated": torch.tensor([0, 4, 2])}, "its evaluations do not rise to step 5"),
        ({"evaluated": torch.tensor([0.0, 2.0, 4.0])}, "its evaluations are not numbered"),
        ({"evaluated": torch.tensor([0, 4])}, "its evaluations are not numbered"),
        ({"train_loss": torch.tensor(1.0)}, "its evaluations are not numbered"),
        ({"values/slope": torch.zeros(2, 1, 1)}, "'slope' is not of its 3 evaluations"),
        ({"generator": torch.zeros(3)}, "does not hold the state"),
        ({"optimizer/0/exp_avg": torch.zeros(1, 1).bool()}, r"exp_avg of parameter 0 is torch.bool \[1, 1\]"),
        ({"optimizer/0/exp_avg": torch.zeros(2)}, r"exp_avg of parameter 0 is torch.float32 \[2\]"),
        ({"optimizer/0/step": torch.zeros(1)}, r"step of parameter 0 is torch.float32 \[1\]"),
        ({"optimizer/7/step": torch.zeros(())}, "parameter 7 has moments step, not exp_avg, exp_avg_sq, step"),
    ],
)
def test_a_state_that_does_not_fit_itself_or_its_run_is_refused_in_one_line(stopped, changes, says):
    reseal(stopped, **changes)
    with pytest.raises(DamagedArtefact, match=says) as told:
        trained(stopped)
    assert "\n" not in str(told.value)
    assert "state.safetensors" in str(told.value)
