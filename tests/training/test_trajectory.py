import pytest
import torch
from torch import nn

from quantascope.errors import DamagedArtefact
from quantascope.training import Recorder, Trajectory


def test_a_recorder_keeps_the_asked_steps_with_the_rates_summed_between_them(tmp_path):
    model = nn.Linear(1, 1, bias=False)
    recorder = Recorder(model, tmp_path, steps={0, 2, 5})
    weights = [model.weight.item()]
    for step in range(5):
        with torch.no_grad():
            model.weight += 1
        recorder.step(0.1 * (step + 1))
        weights.append(model.weight.item())
    trajectory = Trajectory.open(tmp_path)
    assert trajectory.steps.tolist() == [0, 2, 5]
    assert trajectory.learning_rate_mass.tolist() == pytest.approx([0.1 + 0.2, 0.3 + 0.4 + 0.5])
    assert [trajectory.load(i)["weight"].item() for i in range(3)] == [weights[0], weights[2], weights[5]]


def test_a_folder_without_checkpoints_says_how_to_get_them(tmp_path):
    with pytest.raises(DamagedArtefact, match="has no checkpoints; record some while training"):
        Trajectory.open(tmp_path)


def test_a_truncated_checkpoint_is_refused_by_name(tmp_path):
    Recorder(nn.Linear(1, 1), tmp_path, steps={0})
    file = tmp_path / "checkpoints" / "step-00000000.safetensors"
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(DamagedArtefact, match=r"step-00000000\.safetensors is damaged"):
        Trajectory.open(tmp_path)
