"""What the audit finds in damaged series of checkpoints, and that it finds nothing in a sound one."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from quantascope.runs.errors import DamagedArtefact
from quantascope.training import Recorder, Trajectory
from quantascope.training.audit import audit


@pytest.fixture
def series(tmp_path):
    """A smooth trajectory: eleven checkpoints of a model that moves less and less."""
    torch.manual_seed(0)
    model, way = nn.Linear(4, 4), torch.randn(4, 4)
    recorder = Recorder(model, tmp_path, steps=10)
    for step in range(100):
        with torch.no_grad():
            model.weight += way * 0.97**step
            model.bias += 0.01
        recorder.step(0.1)
    return tmp_path


def file(series, step):
    return series / "checkpoints" / f"step-{step:08d}.safetensors"


def change(series, step, alter):
    """Alter the tensors of a checkpoint, keeping what it says about itself out of the way."""
    tensors = load_file(file(series, step))
    save_file(alter(tensors), file(series, step))


def kinds(series, **options):
    return [(finding.kind, finding.step) for finding in audit(series, **options)]


def test_a_sound_series_has_nothing_wrong(series):
    assert audit(series) == []
    assert audit(series, expected=range(0, 101, 10)) == []


def test_a_missing_step_is_seen_from_the_spacing_and_from_what_is_expected(series):
    file(series, 40).unlink()
    assert kinds(series) == [("missing step", 40)]
    assert kinds(series, expected=range(0, 121, 20)) == [("missing step", 40), ("missing step", 120)]


def test_a_duplicated_step_is_named_with_both_files(series):
    (series / "checkpoints" / "other").mkdir()
    shutil.copy(file(series, 40), series / "checkpoints" / "other" / "model-40.safetensors")
    (finding,) = audit(series)
    assert (finding.kind, finding.step) == ("duplicated step", 40)
    assert "is there 2 times" in finding.says
    assert "model-40.safetensors" in finding.says


def test_identical_weights_under_two_steps_are_seen(series):
    shutil.copy(file(series, 40), file(series, 70))
    found = kinds(series)
    assert ("identical weights", 70) in found


def test_a_swapped_checkpoint_stands_aside(series):
    change(series, 50, lambda tensors: {name: torch.randn_like(value) * 40 for name, value in tensors.items()})
    assert kinds(series) == [("out of place", 50)]
    assert "the way over it is" in audit(series)[0].says


def test_a_break_between_two_stretches_is_a_jump(series):
    for step in range(60, 101, 10):
        change(series, step, lambda tensors: {name: value + 100 for name, value in tensors.items()})
    assert kinds(series) == [("jump", 60)]


def test_a_wrong_last_checkpoint_is_a_jump(series):
    change(series, 100, lambda tensors: {name: value + 100 for name, value in tensors.items()})
    assert kinds(series) == [("jump", 100)]


def test_another_shape_or_dtype_is_seen(series):
    change(series, 30, lambda tensors: {**tensors, "bias": torch.zeros(5)})
    change(series, 80, lambda tensors: {**tensors, "weight": tensors["weight"].double()})
    findings = audit(series)
    assert [(finding.kind, finding.step) for finding in findings] == [("shape", 30), ("shape", 80)]
    assert findings[0].says == "step 30: tensor 'bias' is torch.float32 [5], at the first step torch.float32 [4]"
    assert "torch.float64 [4, 4]" in findings[1].says


def test_non_finite_values_are_seen(series):
    change(series, 90, lambda tensors: {**tensors, "bias": torch.tensor([1.0, float("nan"), 0.0, 0.0])})
    assert kinds(series) == [("non-finite", 90)]


def test_a_truncated_file_is_one_finding_and_no_end(series):
    file(series, 20).write_bytes(file(series, 20).read_bytes()[:40])
    assert kinds(series) == [("unreadable", 20)]


def test_a_folder_of_other_peoples_files_is_audited_by_their_names(tmp_path):
    for step in range(0, 50, 10):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        for shard in (1, 2):
            tensors = {f"weight.{shard}": torch.full((3,), float(step + shard))}
            save_file(tensors, folder / f"model-{shard}-of-2.safetensors")
    assert audit(tmp_path) == []
    trajectory = Trajectory.open(tmp_path)
    assert trajectory.steps.tolist() == [0, 10, 20, 30, 40]
    assert sorted(trajectory.load(2)) == ["weight.1", "weight.2"]


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DamagedArtefact, match="has no checkpoints"):
        audit(tmp_path)
