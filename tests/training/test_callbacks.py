"""Recorders in other people's loops: real runs of `transformers.Trainer` and of `lightning.Trainer`."""

import logging
import sys
import warnings

import pytest
import torch
from torch import nn

from quantascope.runs.errors import InvalidConfig
from quantascope.training import Trajectory, callbacks

transformers = pytest.importorskip("transformers")
with warnings.catch_warnings(action="default"):  # of lightning itself
    lightning = pytest.importorskip("lightning.pytorch")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

of_lightning = pytest.mark.filterwarnings(
    r"ignore:`isinstance\(treespec, LeafSpec\)`:FutureWarning",  # it asks torch's pytree so
    "ignore::UserWarning:lightning",  # advice: more workers, fewer logging steps, a folder that exists
)


def tiny_gpt2():
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config)


def rates(updates, total=6, highest=0.01):
    """The rates of a linear decay without warmup, update by update."""
    return [highest * (1 - step / total) for step in range(updates)]


def run_trainer(folder, updates, resume=None):
    data = [{"input_ids": (ids := torch.arange(8) % (3 + row)), "labels": ids} for row in range(8)]
    arguments = transformers.TrainingArguments(
        str(folder / "trainer"),
        max_steps=6,
        per_device_train_batch_size=2,
        learning_rate=0.01,
        save_steps=3,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        dataloader_pin_memory=False,
        seed=0,
    )

    class Stop(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **others):
            control.should_training_stop = state.global_step >= updates

    recorder = callbacks.RecorderCallback(folder / "run", steps=2)
    trainer = transformers.Trainer(tiny_gpt2(), arguments, train_dataset=data, callbacks=[recorder, Stop()])
    trainer.train(resume_from_checkpoint=resume)
    return trainer.model


def test_a_trainer_run_is_recorded_and_resumed_with_the_rates_of_its_scheduler(tmp_path):
    whole = run_trainer(tmp_path / "whole", 6)
    trajectory = Trajectory.open(tmp_path / "whole" / "run")
    assert trajectory.steps.tolist() == [0, 2, 4, 6]
    assert trajectory.mass == pytest.approx([0, *(sum(rates(step)) for step in (2, 4, 6))])
    assert torch.equal(trajectory.load(0)["lm_head.weight"], tiny_gpt2().lm_head.weight)
    assert torch.equal(trajectory.load(3)["lm_head.weight"], whole.lm_head.weight)

    run_trainer(tmp_path / "parts", 5)  # has kept step 4, and can be resumed from step 3
    run_trainer(tmp_path / "parts", 6, resume=str(tmp_path / "parts" / "trainer" / "checkpoint-3"))
    resumed = Trajectory.open(tmp_path / "parts" / "run")
    assert resumed.steps.tolist() == [0, 2, 4, 6]
    assert resumed.mass == pytest.approx(trajectory.mass)
    assert [resumed.digest(i) for i in range(4)] == [trajectory.digest(i) for i in range(4)]

    logged = Trajectory.open(tmp_path / "whole" / "trainer")  # the Trainer's own checkpoints and log
    assert logged.steps.tolist() == [3, 6]
    assert logged.mass == pytest.approx([sum(rates(3)), sum(rates(6))])


def test_the_callback_notes_the_rate_before_each_update_whatever_the_scheduler_does_after_it(tmp_path):
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    state = transformers.TrainerState()
    callback = callbacks.RecorderCallback(tmp_path, steps=1)
    assert isinstance(callback, transformers.TrainerCallback)
    given = {"model": model, "optimizer": optimizer, "lr_scheduler": schedule}
    callback.on_train_begin(None, state, None, **given)
    for skipped in (False, False, True):
        model(torch.ones(1, 2)).sum().backward()
        callback.on_pre_optimizer_step(None, state, None, **given)
        optimizer.step()
        schedule.step()
        optimizer.step_was_skipped = skipped
        state.global_step += 1
        callback.on_step_end(None, state, None, **given)
    assert Trajectory.open(tmp_path).mass == pytest.approx([0, 0.5, 0.55, 0.55])


def test_groups_with_different_rates_are_warned_about(tmp_path):
    model = nn.Linear(2, 1)
    groups = [{"params": [model.weight], "lr": 0.5}, {"params": [model.bias], "lr": 0.1}]
    callback = callbacks.RecorderCallback(tmp_path, steps=1)
    with pytest.warns(UserWarning, match=r"different learning rates \(0\.1, 0\.5\)"):
        callback.on_pre_optimizer_step(None, None, None, optimizer=torch.optim.SGD(groups))


# Lightning.


class Module(lightning.LightningModule):
    """A network whose rate falls after every update."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.model = nn.Linear(2, 1)

    def training_step(self, batch, index):
        return self.model(batch).square().mean()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.5)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Adversaries(Module):
    """A module with two optimizers, which Lightning leaves to the module."""

    automatic_optimization = False

    def configure_optimizers(self):
        return [torch.optim.SGD(self.parameters(), lr=0.5) for _ in range(2)]


def fit_lightning(folder, updates, *, module=None, resume=None, recorder=None, accumulate=2):
    """Train to so many updates, each with the gradients of both batches; Lightning saves every second update."""
    module = module or Module()
    recorder = recorder or callbacks.LightningRecorder(folder / "run", steps=2, network="model")
    saves = lightning.callbacks.ModelCheckpoint(
        folder, "{step}", every_n_train_steps=2, save_top_k=-1, enable_version_counter=False
    )
    trainer = lightning.Trainer(
        max_steps=updates,
        accumulate_grad_batches=accumulate,
        callbacks=[recorder, saves],
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    data = torch.utils.data.DataLoader(torch.tensor([[1.0, 0.2], [-0.3, 0.5]]), batch_size=1)
    trainer.fit(module, data, ckpt_path=resume)
    return module


USED = [0.5 / (1 + step) for step in range(6)]
"""The rates of the updates, by the schedule."""


@of_lightning
def test_a_lightning_run_is_recorded_update_by_update_with_the_rates_of_its_schedule(tmp_path):
    module = fit_lightning(tmp_path, 6)
    trajectory = Trajectory.open(tmp_path / "run")
    assert trajectory.steps.tolist() == [0, 2, 4, 6]
    assert trajectory.mass == pytest.approx([0, *(sum(USED[:step]) for step in (2, 4, 6))])
    assert sorted(trajectory.load(0)) == ["bias", "weight"]
    assert torch.equal(trajectory.load(0)["weight"], Module().model.weight)
    assert torch.equal(trajectory.load(3)["weight"], module.model.weight)


@of_lightning
def test_a_lightning_run_resumed_from_a_checkpoint_of_lightning_is_recorded_as_a_whole_one(tmp_path):
    fit_lightning(tmp_path / "whole", 6)
    fit_lightning(tmp_path / "parts", 5)  # resumed from update 2, updates 3, 4 and 5 are made again
    fit_lightning(tmp_path / "parts", 6, resume=tmp_path / "parts" / "step=2.ckpt")
    whole, parts = (Trajectory.open(tmp_path / name / "run") for name in ("whole", "parts"))
    assert parts.steps.tolist() == [0, 2, 4, 6]
    assert parts.mass == pytest.approx(whole.mass)
    assert [parts.digest(i) for i in range(4)] == [whole.digest(i) for i in range(4)]


@of_lightning
def test_a_second_fit_with_the_same_callback_goes_on(tmp_path):
    recorder = callbacks.LightningRecorder(tmp_path / "run", steps=2)
    fit_lightning(tmp_path, 4, recorder=recorder)
    fit_lightning(tmp_path, 6, resume=tmp_path / "step=4.ckpt", recorder=recorder)
    assert Trajectory.open(tmp_path / "run").mass == pytest.approx([0, *(sum(USED[:s]) for s in (2, 4, 6))])


@of_lightning
def test_a_resumed_run_does_not_replace_what_another_model_kept(tmp_path):
    fit_lightning(tmp_path / "one", 4)
    fit_lightning(tmp_path / "other", 2, module=Module(seed=1))
    with pytest.raises(InvalidConfig, match="of the model differs from"):
        fit_lightning(tmp_path / "one", 4, resume=tmp_path / "other" / "step=2.ckpt")
    assert Trajectory.open(tmp_path / "one" / "run").steps.tolist() == [0, 2, 4]


@of_lightning
def test_several_optimizers_are_refused(tmp_path):
    with pytest.raises(InvalidConfig, match="the training has 2 optimizers"):
        fit_lightning(tmp_path, 1, module=Adversaries(), accumulate=1)


def test_a_missing_package_is_named(monkeypatch):
    callbacks._lightning_class.cache_clear()
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidConfig, match="lightning is not installed; pip install lightning"):
        _ = callbacks.LightningRecorder
    callbacks._lightning_class.cache_clear()
