"""Checkpoint series in the layouts of other programs: what is found, in which order, and what is refused."""

import json
import os
import pickle
import socket

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.training import Recorder, Trajectory, audit, checkpoint_files


def write(file, value, name="weight", dtype=torch.float32):
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: torch.full((2, 2), float(value), dtype=dtype)}, file)


def write_sharded(folder, value, shards=2):
    for shard in range(1, shards + 1):
        write(folder / f"model-{shard:05d}-of-{shards:05d}.safetensors", value, f"weight.{shard}")
    write_index(folder, {f"weight.{shard}": f"model-{shard:05d}-of-{shards:05d}.safetensors" for shard in (1, 2)})


def write_index(folder, weight_map):
    folder.mkdir(parents=True, exist_ok=True)
    index = {"metadata": {"total_size": 32}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["checkpoint-500", "checkpoint-1000"], [500, 1000]),
        (["step1", "step512", "step1000"], [1, 512, 1000]),
        (["stage1-step0-tokens0B", "stage1-step1000-tokens5B"], [0, 1000]),
        (["step-001000-2BT", "step-002000-4BT"], [1000, 2000]),
    ],
)
def test_series_of_trainer_pythia_olmo_and_fineweb_are_read_in_the_order_of_their_steps(tmp_path, names, steps):
    for step, name in zip(steps, names, strict=True):
        write(tmp_path / name / "model.safetensors", step)
    trajectory = Trajectory.open(tmp_path)
    assert trajectory.steps.tolist() == steps
    assert [trajectory.load(i)["weight"][0, 0].item() for i in range(len(steps))] == steps


def test_stages_and_ingredients_are_kept_apart_until_one_is_chosen(tmp_path):
    names = {"stage1-step5-tokens1B": 1, "stage2-ingredient1-step5-tokens1B": 2, "stage2-ingredient2-step5": 3}
    for name, value in names.items():
        write(tmp_path / name / "model.safetensors", value)
    listed = (
        r"several branches of training \('stage1', 'stage2-ingredient1', 'stage2-ingredient2'\); choose one with"
    )
    with pytest.raises(DamagedArtefact, match=listed):
        Trajectory.open(tmp_path)
    for branch, value in (("stage1", 1), ("stage2-ingredient1", 2), ("stage2-ingredient2", 3)):
        assert Trajectory.open(tmp_path, branch=branch).load(0)["weight"][0, 0].item() == value
        assert audit(tmp_path, branch=branch) == []
    with pytest.raises(InvalidConfig, match="has no branch 'stage3'; choose one of 'stage1'"):
        Trajectory.open(tmp_path, branch="stage3")


def test_the_revisions_of_a_hub_cache_are_steps(tmp_path):
    model = tmp_path / "models--owner--name"
    for step, commit in ((0, "a" * 40), (1000, "b" * 40)):
        blob = model / "blobs" / commit
        write(blob.with_suffix(".safetensors"), step)
        blob.with_suffix(".safetensors").rename(blob)
        snapshot = model / "snapshots" / commit
        snapshot.mkdir(parents=True)
        (snapshot / "model.safetensors").symlink_to(blob)
        (model / "refs").mkdir(exist_ok=True)
        (model / "refs" / f"step{step}").write_text(commit)
    (model / "refs" / "main").write_text("b" * 40)
    for folder in (model, tmp_path):
        trajectory = Trajectory.open(folder)
        assert trajectory.steps.tolist() == [0, 1000]
        assert trajectory.load(1)["weight"][0, 0].item() == 1000
    (model / "blobs" / ("a" * 40)).unlink()
    with pytest.raises(DamagedArtefact, match="is a link to a missing file; download it again"):
        Trajectory.open(model)
    for content, said in (("c" * 40, "c" * 40), ("../../elsewhere", "../../elsewhere")):
        (model / "refs" / "step0").write_text(content)
        with pytest.raises(DamagedArtefact, match=f"names the snapshot '{said}', which is missing"):
            Trajectory.open(model)
    (tmp_path / "models--owner--other").mkdir()
    with pytest.raises(DamagedArtefact, match="is a cache of several models"):
        Trajectory.open(tmp_path)


def test_shards_are_those_that_the_index_names(tmp_path):
    for step in (1, 2):
        write_sharded(tmp_path / f"step{step}", step)
    trajectory = Trajectory.open(tmp_path)
    assert sorted(trajectory.load(1)) == ["weight.1", "weight.2"]
    missing = tmp_path / "step2" / "model-00002-of-00002.safetensors"
    missing.unlink()
    with pytest.raises(
        DamagedArtefact, match=r"model-00002-of-00002\.safetensors, which model\.\S* names, is missing"
    ):
        Trajectory.open(tmp_path)
    assert [(finding.kind, finding.step) for finding in audit(tmp_path)] == [("unreadable", 2)]
    (tmp_path / "step2" / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(DamagedArtefact, match="is missing"):  # only the index is left
        Trajectory.open(tmp_path)


def test_a_shard_that_the_index_does_not_name_is_refused(tmp_path):
    write_sharded(tmp_path / "step1", 1)
    write(tmp_path / "step1" / "consolidated.safetensors", 1, "other")
    with pytest.raises(DamagedArtefact, match=r"consolidated\.safetensors is not among the shards of model\.safe"):
        Trajectory.open(tmp_path)


@pytest.mark.parametrize(
    ("index", "complaint"),
    [
        ("{", "is damaged or foreign"),
        ("[]", "has no weight_map"),
        ('{"weight_map": {"weight": "../step2/model.safetensors"}}', "which is not a file beside it"),
    ],
)
def test_a_bad_index_is_refused_by_name(tmp_path, index, complaint):
    write(tmp_path / "step1" / "model.safetensors", 1)
    (tmp_path / "step1" / "model.safetensors.index.json").write_text(index)
    with pytest.raises(DamagedArtefact, match=rf"model\.safetensors\.index\.json.*{complaint}"):
        Trajectory.open(tmp_path)


def test_without_an_index_the_names_say_how_many_shards_there_are(tmp_path):
    for shard in (1, 3):
        write(tmp_path / "step1" / f"model-0000{shard}-of-00003.safetensors", 1, f"weight.{shard}")
    with pytest.raises(DamagedArtefact, match="shard 2 of 3 is missing beside"):
        Trajectory.open(tmp_path)


def test_an_adapter_beside_a_model_is_refused_by_name(tmp_path):
    write(tmp_path / "checkpoint-5" / "model.safetensors", 5)
    write(tmp_path / "checkpoint-5" / "adapter_model.safetensors", 5, "lora_A")
    with pytest.raises(DamagedArtefact, match=r"adapter_model\.safetensors is an adapter, not a checkpoint"):
        Trajectory.open(tmp_path)


def test_what_a_trainer_keeps_beside_the_weights_is_no_checkpoint(tmp_path):
    for step in (1, 2):
        folder = tmp_path / f"checkpoint-{step}"
        write(folder / "model.safetensors", step)
        for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin", "pytorch_model.bin"):
            torch.save({"weight": torch.zeros(1)}, folder / name)
    for options in ({}, {"pickles": True}):
        trajectory = Trajectory.open(tmp_path, **options)
        assert [[file.name for file in shards] for shards in trajectory.files] == [["model.safetensors"]] * 2


@pytest.mark.parametrize("name", ["step{}.pt", "step{}/pytorch_model.bin", "epoch=0-step={}.ckpt"])
def test_pickles_are_read_only_when_asked_for(tmp_path, name):
    for step in (1, 2):
        file = tmp_path / name.format(step)
        file.parent.mkdir(exist_ok=True)
        torch.save({"weight": torch.full((1,), float(step))}, file)
    with pytest.raises(DamagedArtefact, match="is a pickle, which is read only if asked for; give pickles=True"):
        Trajectory.open(tmp_path)
    trajectory = Trajectory.open(tmp_path, pickles=True)
    trajectory.check()
    assert [trajectory.load(i)["weight"].item() for i in range(2)] == [1.0, 2.0]
    assert audit(tmp_path, pickles=True) == []
    with pytest.raises(DamagedArtefact, match="give pickles=True"):
        Trajectory.of_files({1: trajectory.files[0]}).load(0)


def test_a_step_that_is_there_as_a_pickle_only_is_not_left_out_silently(tmp_path):
    write(tmp_path / "step1" / "model.safetensors", 1)
    (tmp_path / "step0").mkdir()
    torch.save({"weight": torch.zeros(2, 2)}, tmp_path / "step0" / "pytorch_model.bin")
    with pytest.raises(DamagedArtefact, match=r"step0/pytorch_model\.bin is a pickle"):
        Trajectory.open(tmp_path)
    assert Trajectory.open(tmp_path, pickles=True).steps.tolist() == [0, 1]


def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "was-run"),)

    (tmp_path / "step1.pt").write_bytes(pickle.dumps({"weight": Evil()}, protocol=2))
    torch.save({"weight": Evil()}, tmp_path / "step2.pt")
    trajectory = Trajectory.open(tmp_path, pickles=True)
    for index in (0, 1):
        with pytest.raises(DamagedArtefact, match=rf"step{index + 1}\.pt (holds more than tensors|is damaged)"):
            trajectory.load(index)
    assert not (tmp_path / "was-run").exists()


def test_the_prefixes_of_lightning_and_of_wrappers_are_removed(tmp_path):
    state = {"model.layer.weight": torch.zeros(2), "model.head.bias": torch.ones(1)}
    torch.save({"pytorch-lightning_version": "2.4.0", "state_dict": state, "epoch": 0}, tmp_path / "step=1.ckpt")
    wrapped = {"module._orig_mod.layer.weight": torch.zeros(2), "module._orig_mod.head.bias": torch.ones(1)}
    torch.save({"model_state_dict": wrapped}, tmp_path / "step=2.ckpt")
    trajectory = Trajectory.open(tmp_path, pickles=True)
    assert [sorted(trajectory.load(i)) for i in range(2)] == [["head.bias", "layer.weight"]] * 2


def test_distributed_checkpoints_are_refused_with_their_converter(tmp_path):
    dcp = tmp_path / "dcp" / "step5"
    dcp.mkdir(parents=True)
    for name in (".metadata", "__0_0.distcp"):
        (dcp / name).touch()
    with pytest.raises(DamagedArtefact, match=r"format_utils dcp_to_torch \S*step5 FILE\.pt"):
        Trajectory.open(tmp_path / "dcp")
    states = tmp_path / "deepspeed" / "checkpoint-5" / "global_step5"
    states.mkdir(parents=True)
    (states / "mp_rank_00_model_states.pt").touch()
    for options in ({}, {"pickles": True}):
        with pytest.raises(DamagedArtefact, match=r"python zero_to_fp32\.py \S*checkpoint-5 FOLDER"):
            Trajectory.open(tmp_path / "deepspeed", **options)
    write(states.parent / "model.safetensors", 5)  # gathered weights beside it are read
    assert Trajectory.open(tmp_path / "deepspeed").steps.tolist() == [5]


def test_a_fifo_or_a_socket_is_refused_and_not_opened(tmp_path, monkeypatch):
    write(tmp_path / "foreign" / "step1.safetensors", 1)
    os.mkfifo(tmp_path / "foreign" / "step2.safetensors")
    with pytest.raises(DamagedArtefact, match=r"step2\.safetensors is a FIFO, not a regular file; move it away"):
        Trajectory.open(tmp_path / "foreign")
    assert [(finding.kind, finding.step) for finding in audit(tmp_path / "foreign")] == [("unreadable", 2)]
    Recorder(nn.Linear(1, 1), tmp_path / "own", steps=1).step(0.1)
    ours = tmp_path / "own" / "checkpoints"
    for name in ("step-00000001.safetensors", "step-00000000.safetensors"):  # one in the middle, then the first
        (ours / name).unlink()
        os.mkfifo(ours / name)
        with pytest.raises(DamagedArtefact, match="is a FIFO"):
            Trajectory.open(tmp_path / "own")
    (tmp_path / "s").mkdir()
    monkeypatch.chdir(tmp_path / "s")  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("step1.safetensors")
        with pytest.raises(DamagedArtefact, match="is a socket"):
            Trajectory.open(tmp_path / "s")


def test_headers_are_checked_before_anything_long(tmp_path):
    for step in range(4):
        write(tmp_path / f"step{step}.safetensors", step)
    trajectory = Trajectory.open(tmp_path)
    trajectory.check()
    write(tmp_path / "step2.safetensors", 2, dtype=torch.bfloat16)
    with pytest.raises(
        DamagedArtefact, match=r"step2\.safetensors: tensor 'weight' is BF16 \[2, 2\], at the first .* F32"
    ):
        trajectory.check()
    content = (tmp_path / "step1.safetensors").read_bytes()
    (tmp_path / "step1.safetensors").write_bytes(content[:-3])
    with pytest.raises(DamagedArtefact, match=r"step1\.safetensors is damaged"):
        trajectory.check()
    (tmp_path / "step1.safetensors").unlink()
    with pytest.raises(DamagedArtefact, match=r"step1\.safetensors is missing"):
        trajectory.check()


def test_tied_and_bfloat16_weights_are_read_as_they_are(tmp_path):
    model = nn.ModuleDict({"embedding": nn.Embedding(3, 2), "head": nn.Linear(2, 3, bias=False)}).bfloat16()
    model["head"].weight = model["embedding"].weight
    Recorder(model, tmp_path, steps=1)
    trajectory = Trajectory.open(tmp_path)
    trajectory.check()
    loaded = trajectory.load(0)
    assert loaded["head.weight"].dtype == torch.bfloat16
    assert torch.equal(loaded["head.weight"], model["embedding"].weight)


def test_a_digest_is_of_names_dtypes_shapes_and_bytes_and_not_of_files(tmp_path):
    write_sharded(tmp_path / "step1", 1)
    whole = {f"weight.{shard}": torch.ones(2, 2) for shard in (1, 2)}
    others = [
        {**whole, "weight.2": torch.ones(4)},
        {**whole, "weight.2": torch.ones(2, 2).bfloat16()},
        {**whole, "weight.2": torch.tensor([[1.0, 1.0], [1.0, 1.0 + 2**-23]])},
        {"weight.1": whole["weight.1"], "weight.3": whole["weight.2"]},
    ]
    for step, tensors in enumerate([whole, *others], 2):
        (tmp_path / f"step{step}").mkdir()
        save_file(tensors, tmp_path / f"step{step}" / "model.safetensors")
    trajectory = Trajectory.open(tmp_path)
    digests = [trajectory.digest(i) for i in range(6)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 5


def trainer_state(folder, rates, **config):
    history = [{"step": step, "learning_rate": rate, "loss": 1.0} for step, rate in rates.items()]
    (folder / "trainer_state.json").write_text(
        json.dumps({"log_history": [*history, {"step": 4, "eval_loss": 1}]})
    )
    (folder / "config.json").write_text(json.dumps(config))


def test_rates_that_a_trainer_logged_at_every_step_are_summed(tmp_path):
    rates = {1: 0.0, 2: 0.1, 3: 0.2, 4: 0.1}
    for step in (2, 4):
        write(tmp_path / f"checkpoint-{step}" / "model.safetensors", step)
        logged = {at: rate for at, rate in rates.items() if at <= step}
        trainer_state(tmp_path / f"checkpoint-{step}", logged, transformers_version="5.1.0")
    assert Trajectory.open(tmp_path).mass == pytest.approx([0.1, 0.4])
    trainer_state(tmp_path / "checkpoint-4", {2: 0.1, 4: 0.1})
    with pytest.raises(
        InvalidConfig, match=r"use the path rule \(.*rate for 2 of 4 updates; train with logging_steps=1"
    ):
        _ = Trajectory.open(tmp_path).learning_rate_mass
    trainer_state(tmp_path / "checkpoint-4", rates, transformers_version="4.48.1")
    with pytest.raises(InvalidConfig, match=r"transformers 4\.48 logs the rate of the next update"):
        _ = Trajectory.open(tmp_path).learning_rate_mass
    (tmp_path / "checkpoint-4" / "trainer_state.json").write_text("{")
    assert Trajectory.open(tmp_path).mass is None


def test_a_folder_of_too_many_files_is_refused_and_others_are_looked_at_by_name_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_files, "MOST_FILES", 5)
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    assert checkpoint_files.weight_files(tmp_path) == []
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(InvalidConfig, match="holds more than 5 files"):
        checkpoint_files.weight_files(tmp_path)
