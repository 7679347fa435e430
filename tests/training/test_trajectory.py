import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from quantascope.errors import DamagedArtefact, InvalidConfig
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


def test_a_recorder_keeps_every_so_many_steps(tmp_path):
    recorder = Recorder(nn.Linear(1, 1), tmp_path, steps=3)
    for _ in range(7):
        recorder.step(0.5)
    trajectory = Trajectory.open(tmp_path)
    assert trajectory.steps.tolist() == [0, 3, 6]
    assert trajectory.learning_rate_mass.tolist() == [1.5, 1.5]


def test_an_impossible_schedule_is_refused(tmp_path):
    with pytest.raises(InvalidConfig, match="cannot keep a checkpoint every 0 steps"):
        Recorder(nn.Linear(1, 1), tmp_path, steps=0)


def test_a_new_run_among_the_checkpoints_of_an_earlier_one_is_refused(tmp_path):
    model = nn.Linear(1, 1)
    recorder = Recorder(model, tmp_path, steps=1)
    recorder.step(0.5)
    with pytest.raises(InvalidConfig, match="has checkpoints up to step 1 already; name another folder"):
        Recorder(model, tmp_path, steps=1)
    Recorder(model, tmp_path, steps=1, at=1, mass=0.5).step(0.5)
    assert repr(Trajectory.open(tmp_path)) == "Trajectory(3 checkpoints, steps 0 to 2)"


def test_fewer_steps_of_a_trajectory_sum_the_rates_between_them(tmp_path):
    recorder = Recorder(nn.Linear(1, 1), tmp_path, steps=1)
    for _ in range(6):
        recorder.step(0.1)
    coarse = Trajectory.open(tmp_path).at([0, 2, 6])
    assert coarse.learning_rate_mass.tolist() == pytest.approx([0.2, 0.4])
    with pytest.raises(DamagedArtefact, match="there is no checkpoint of step 9; the nearest is of step 6"):
        coarse.at([9])


def test_a_step_that_is_there_twice_is_refused(tmp_path):
    for name in ("step-3.safetensors", "other-3.safetensors"):
        save_file({"weight": torch.zeros(1)}, tmp_path / name)
    with pytest.raises(DamagedArtefact, match=r"step 3 is there twice, as .*; remove one"):
        Trajectory.open(tmp_path)


def test_files_that_are_no_shards_of_one_checkpoint_are_not_merged(tmp_path):
    (tmp_path / "step-1").mkdir()
    for name in ("raw", "averaged"):
        save_file({"weight": torch.zeros(1)}, tmp_path / "step-1" / f"{name}.safetensors")
    with pytest.raises(DamagedArtefact, match="both hold 'weight', so they are no shards of one checkpoint"):
        Trajectory.open(tmp_path).load(0)


def test_a_folder_named_like_ours_may_be_somebody_elses(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    for step in (0, 100):
        save_file({"weight": torch.zeros(1)}, tmp_path / "checkpoints" / f"step-{step}.safetensors")
    assert Trajectory.open(tmp_path).steps.tolist() == [0, 100]


def test_other_peoples_checkpoints_have_no_learning_rates(tmp_path):
    for step in (0, 5):
        save_file({"weight": torch.full((1,), float(step))}, tmp_path / f"model_step{step}.safetensors")
    trajectory = Trajectory.open(tmp_path)
    assert trajectory.load(1)["weight"].item() == 5.0
    with pytest.raises(InvalidConfig, match="do not say their learning rates; use the path rule"):
        _ = trajectory.learning_rate_mass


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DamagedArtefact, match="there is no folder"):
        Trajectory.open(tmp_path / "nowhere")


def test_our_own_checkpoints_are_read_by_the_given_reader(tmp_path):
    Recorder(nn.Linear(1, 1), tmp_path, steps=1)
    read = Trajectory.open(tmp_path, reader=lambda shards: {shards[0].stem: torch.zeros(1)}).load(0)
    assert list(read) == ["step-00000000"]
