"""Steps in the names of other people's checkpoints, and names that are refused."""

import pytest

from quantascope.runs.errors import DamagedArtefact
from quantascope.training.checkpoint_names import find_checkpoints


def found(folder, *names):
    for name in names:
        file = folder / f"{name}.safetensors"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return {step: [len(shards) for shards in all_of_it] for step, all_of_it in find_checkpoints(folder).items()}


@pytest.mark.parametrize(
    "names",
    [
        ["step-5-loss-2.31", "step-100-loss-1.75"],
        ["ckpt_5_fp16", "ckpt_100_fp16"],
        ["epoch=0-step=5", "epoch=1-step=100"],
        ["checkpoint-1-global_step5", "checkpoint-2-global_step100"],
        ["iter_0000005", "iter_0000100"],
        ["step5-tokens4B", "step100-tokens40B"],
        ["step5/hf/model", "step100/hf/model"],
        ["run1/step-5", "run1/step-100"],
        ["model-7b-5", "model-7b-100"],
        ["5/model", "100/model"],
        ["llama2-5steps", "llama2-100steps"],
        ["checkpoint-5", "other-100", "final"],
    ],
)
def test_the_step_is_the_number_after_its_word_or_the_one_that_differs(tmp_path, names):
    assert found(tmp_path, *names) == {5: [1], 100: [1]}


@pytest.mark.parametrize(
    "names",
    [
        ["step1e3", "step1e4"],
        ["step=1,000", "step=2,000"],
        ["step10k", "step20k"],
        ["model-100-2.31", "model-200-1.75"],
        ["model-0.5", "model-0.25"],
        ["model-900k", "model-1M"],
        ["step100/step-3"],
    ],
)
def test_names_that_leave_the_step_open_are_refused(tmp_path, names):
    remedy = "rename it, as in step-100, or give the steps with Trajectory.of_files"
    with pytest.raises(DamagedArtefact, match=f"the step of checkpoint '.*' is not clear; {remedy}"):
        found(tmp_path, *names)


def test_shards_are_one_checkpoint_in_a_folder_or_beside_others(tmp_path):
    inside = [f"checkpoint-{step}/model-0000{shard}-of-00002" for step in (5, 100) for shard in (1, 2)]
    beside = [f"step-200-0000{shard}-of-00002" for shard in (1, 2)]
    assert found(tmp_path, *inside, *beside) == {5: [2], 100: [2], 200: [2]}


def test_a_step_in_two_folders_is_there_twice(tmp_path):
    assert found(tmp_path, "seed1/step-5", "seed2/step-5") == {5: [1, 1]}
