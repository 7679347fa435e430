"""Recorders in other people's loops: a real Trainer run, and Lightning's hooks called in Lightning's order."""

import sys
import types

import pytest
import torch
from torch import nn

from quantascope.runs.errors import InvalidConfig
from quantascope.training import Trajectory, callbacks

transformers = pytest.importorskip("transformers")


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


@pytest.mark.filterwarnings("default")  # of transformers and accelerate themselves
def test_a_trainer_run_is_recorded_and_resumed_with_the_rates_of_its_scheduler(tmp_path):
    pytest.importorskip("accelerate", reason="Trainer needs accelerate")
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


@pytest.fixture
def lightning(monkeypatch):
    """A stand-in for Lightning, which is not installed: its base class of callbacks."""
    module = types.ModuleType("pytorch_lightning")
    module.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "lightning", None)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", module)
    callbacks._lightning_class.cache_clear()
    yield module
    callbacks._lightning_class.cache_clear()


class Module(nn.Module):
    """A LightningModule in short."""

    def __init__(self):
        super().__init__()
        self.model = nn.Linear(2, 1)


class Loop:
    """Lightning's loop: its hooks in order, an update every second batch, the scheduler before the batch's end."""

    is_global_zero = True

    def __init__(self, module, callback, *, accumulate=2, at=0):
        self.module, self.callback, self.accumulate, self.global_step = module, callback, accumulate, at
        self.optimizers = [torch.optim.SGD(module.parameters(), lr=0.5)]
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizers[0], lambda step: 1 / (1 + at + step))

    def fit(self, updates):
        self.callback.on_train_start(self, self.module)
        for batch in range(updates * self.accumulate):
            self.module.model(torch.ones(1, 2)).sum().backward()
            if (batch + 1) % self.accumulate == 0:
                self.callback.on_before_optimizer_step(self, self.module, self.optimizers[0])
                self.optimizers[0].step()
                self.optimizers[0].zero_grad()
                self.global_step += 1
                self.schedule.step()
            self.callback.on_train_batch_end(self, self.module, None, None, batch)


def test_a_lightning_run_is_recorded_update_by_update_and_resumed(tmp_path, lightning):
    module = Module()
    callback = callbacks.LightningRecorder(tmp_path, steps=2, network="model")
    assert isinstance(callback, lightning.Callback)
    loop = Loop(module, callback)
    loop.fit(3)
    saved, weights = callback.state_dict(), {name: value.clone() for name, value in module.state_dict().items()}
    loop.fit(0)  # a second fit goes on from where the first ended
    again = Module()
    again.load_state_dict(weights)
    resumed = callbacks.LightningRecorder(tmp_path, steps=2, network="model")
    resumed.load_state_dict(saved)
    Loop(again, resumed, at=3).fit(3)
    trajectory = Trajectory.open(tmp_path)
    used = [0.5 / (1 + step) for step in range(6)]
    assert trajectory.steps.tolist() == [0, 2, 4, 6]
    assert trajectory.mass == pytest.approx([0, *(sum(used[:step]) for step in (2, 4, 6))])
    assert sorted(trajectory.load(0)) == ["bias", "weight"]
    assert torch.equal(trajectory.load(3)["weight"], again.model.weight)


def test_a_resumed_run_does_not_replace_what_another_model_kept(tmp_path, lightning):
    callback = callbacks.LightningRecorder(tmp_path, steps=1)
    loop = Loop(Module(), callback)
    loop.fit(2)
    other = callbacks.LightningRecorder(tmp_path, steps=1)
    other.load_state_dict({"step": 1, "mass": 0.5})
    with pytest.raises(InvalidConfig, match="of the model is not that in"):
        Loop(Module(), other, at=1).fit(1)
    assert Trajectory.open(tmp_path).steps.tolist() == [0, 1, 2]


def test_several_optimizers_are_refused_and_a_missing_package_is_named(tmp_path, lightning, monkeypatch):
    loop = Loop(Module(), callbacks.LightningRecorder(tmp_path))
    loop.optimizers *= 2
    with pytest.raises(InvalidConfig, match="the training has 2 optimizers"):
        loop.fit(1)
    callbacks._lightning_class.cache_clear()
    monkeypatch.setitem(sys.modules, "pytorch_lightning", None)
    with pytest.raises(InvalidConfig, match="lightning is not installed; pip install lightning"):
        _ = callbacks.LightningRecorder
