import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from quantascope.runs.artefact import write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.training import Recorder, Trajectory
from quantascope.training.recorder import _asked_steps


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
    with pytest.raises(DamagedArtefact, match=r"step-00000000\.safetensors is damaged .*; restore it, or train"):
        Trajectory.open(tmp_path)


def test_a_recorder_keeps_every_so_many_steps(tmp_path):
    recorder = Recorder(nn.Linear(1, 1), tmp_path, steps=3)
    for _ in range(7):
        recorder.step(0.5)
    trajectory = Trajectory.open(tmp_path)
    assert trajectory.steps.tolist() == [0, 3, 6]
    assert trajectory.learning_rate_mass.tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (0, "cannot keep a checkpoint every 0 steps; give at least 1"),
        (5.0, r"5\.0 is no number of steps; give an integer"),
        ([0, 2.5], r"\[0, 2\.5\] is no number of steps"),
        ([], "there are no steps at which to save a checkpoint; name at least one"),
    ],
)
def test_an_impossible_schedule_is_refused(steps, complaint):
    with pytest.raises(InvalidConfig, match=complaint):
        _asked_steps(steps)


def test_steps_and_rates_may_be_of_numpy_and_torch(tmp_path):
    recorder = Recorder(nn.Linear(1, 1), tmp_path, steps=np.int64(1))
    recorder.step(torch.tensor(0.5))
    assert Trajectory.open(tmp_path).learning_rate_mass.tolist() == [0.5]
    for rate in (float("nan"), float("inf"), -0.1):
        with pytest.raises(InvalidConfig, match=f"the learning rate of step 2 is {rate}; give a finite one"):
            recorder.step(rate)


@pytest.fixture
def recorded(tmp_path):
    """A model after ten steps, with a checkpoint at every five."""
    model = nn.Linear(1, 1)
    recorder = Recorder(model, tmp_path, steps=5)
    for _ in range(10):
        recorder.step(0.5)
    return model


def test_a_run_is_taken_up_with_the_rates_that_its_last_checkpoint_says(tmp_path, recorded):
    for options in ({}, {"mass": 5.0 + 1e-9}):
        recorder = Recorder(recorded, tmp_path, steps=5, at=10, **options)
        assert recorder.mass == 5.0
    for _ in range(5):
        recorder.step(0.1)
    assert Trajectory.open(tmp_path).learning_rate_mass.tolist() == pytest.approx([2.5, 2.5, 0.5])
    assert Recorder(recorded, tmp_path, steps=5, at=17, mass=6.0).mass == 6.0


def test_another_model_step_or_mass_is_not_taken_up(tmp_path, recorded):
    with pytest.raises(InvalidConfig, match=r"'bias' of the model differs from .*step-00000010"):
        Recorder(nn.Linear(1, 1), tmp_path, steps=5, at=10)
    with pytest.raises(InvalidConfig, match="up to step 10 already; name another folder, or remove those after"):
        Recorder(recorded, tmp_path, steps=5, at=5)
    for options, said in (
        ({"at": 10, "mass": 4.0}, "4"),
        ({"at": 12}, "not given"),
        ({"at": 12, "mass": 1.0}, "1"),
    ):
        with pytest.raises(InvalidConfig, match=rf"up to step {options['at']} is {said}, and 5 up to step 10 in"):
            Recorder(recorded, tmp_path, steps=5, **options)


def test_checkpoints_whose_summed_rates_fall_are_of_two_runs(tmp_path, recorded):
    file = tmp_path / "checkpoints" / "step-00000015.safetensors"
    write_tensors(file, recorded.state_dict(), made_by="", step=15, mass=2.0)
    with pytest.raises(DamagedArtefact, match=r"sum to 5 up to step 10 and to 2 up to step 15: .* of another run"):
        Trajectory.open(tmp_path)


def test_a_buffer_inside_a_parameter_is_kept_with_its_values(tmp_path):
    model = nn.Linear(2, 2)
    model.register_buffer("first", model.weight.detach()[:1])
    Recorder(model, tmp_path, steps=1)
    assert torch.equal(Trajectory.open(tmp_path).load(0)["first"], model.weight[:1])


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
    for wrong in ([6, 2], [2, 2]):
        with pytest.raises(InvalidConfig, match=rf"step 2 is asked for after step {wrong[0]}; give rising steps"):
            coarse.at(wrong)


def test_a_step_that_is_there_twice_is_refused(tmp_path):
    for name in ("step-3.safetensors", "other-3.safetensors"):
        save_file({"weight": torch.zeros(1)}, tmp_path / name)
    with pytest.raises(DamagedArtefact, match=r"step 3 is there twice, as .*; keep one"):
        Trajectory.open(tmp_path)


def test_files_that_are_no_shards_of_one_checkpoint_are_not_merged(tmp_path):
    (tmp_path / "step-1").mkdir()
    for name in ("raw", "averaged"):
        save_file({"weight": torch.zeros(1)}, tmp_path / "step-1" / f"{name}.safetensors")
    with pytest.raises(DamagedArtefact, match="both hold 'weight', so they are not shards of one checkpoint"):
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
    with pytest.raises(InvalidConfig, match="do not record their learning rates; use the path rule"):
        _ = trajectory.learning_rate_mass


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DamagedArtefact, match="there is no folder"):
        Trajectory.open(tmp_path / "nowhere")


def test_our_own_checkpoints_are_read_by_the_given_reader(tmp_path):
    Recorder(nn.Linear(1, 1), tmp_path, steps=1)
    read = Trajectory.open(tmp_path, reader=lambda shards: {shards[0].stem: torch.zeros(1)}).load(0)
    assert list(read) == ["step-00000000"]
