"""The training loop against closed forms, torch's own optimizers, and itself after interruptions."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.acquisition.learner import HSPLearner, learn
from quantascope.models import MLPConfig
from quantascope.runs.artefact import read_tensors
from quantascope.runs.config import Config
from quantascope.runs.errors import DamagedArtefact, Diverged, RunMismatch
from quantascope.runs.run_directory import RunDirectory
from quantascope.tasks.hsp import FlatFamily
from quantascope.training import (
    Objective,
    OptimizerConfig,
    Pace,
    ScheduleConfig,
    TrainingConfig,
    Trajectory,
    train,
)


class Settings(Config):
    note: str = "a test"


SQUARES = Objective(
    forward=lambda model, batch: model(batch[0]),
    terms={"squares": lambda output, batch, step: (output - batch[1]).square().mean()},
)


def linear_model() -> nn.Linear:
    torch.manual_seed(3)
    return nn.Linear(2, 1, bias=False)


def random_batches(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(8, 2, generator=generator)
    return inputs, inputs.sum(1, keepdim=True)


def test_full_batch_gradient_descent_follows_its_closed_form():
    inputs = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    model, target = linear_model(), torch.tensor([[1.0], [-1.0]])
    start = model.weight.detach().numpy().copy()[0]
    config = TrainingConfig(steps=30, optimizer=OptimizerConfig(name="sgd", learning_rate=0.1))
    train(model, batches=lambda step: (inputs, target), objective=SQUARES, config=config)
    # The mean of the two squares pulls each coordinate on its own: w <- w - lr * x (x w - y).
    contraction = (1 - 0.1 * np.array([1.0, 4.0])) ** 30
    solution = np.array([1.0, -0.5])
    assert np.allclose(model.weight.detach().numpy()[0], solution + contraction * (start - solution), atol=1e-6)


@pytest.mark.parametrize(
    ("config", "reference"),
    [
        (
            OptimizerConfig(name="sgd", learning_rate=0.05, momentum=0.9, weight_decay=0.01),
            lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
        ),
        (
            OptimizerConfig(learning_rate=0.02, betas=(0.8, 0.95), epsilon=1e-5, weight_decay=0.1),
            lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1),
        ),
        (
            OptimizerConfig(name="adamw", learning_rate=0.02, weight_decay=0.1),
            lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
        ),
    ],
    ids=["sgd", "adam", "adamw"],
)
def test_each_optimizer_takes_the_steps_of_the_plain_torch_optimizer(config, reference):
    ours, theirs = linear_model(), linear_model()
    train(ours, batches=random_batches, objective=SQUARES, config=TrainingConfig(steps=25, optimizer=config))
    optimizer = reference(theirs.parameters())
    for step in range(25):
        inputs, target = random_batches(step)
        optimizer.zero_grad()
        (theirs(inputs) - target).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


def test_a_schedule_warms_up_holds_and_decays_to_zero():
    linear = ScheduleConfig(warmup=4, decay="linear", decay_from=6)
    assert [linear.factor(step, 10) for step in range(10)] == [0.25, 0.5, 0.75, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    cosine = ScheduleConfig(decay="cosine")
    assert cosine.factor(5, 10) == pytest.approx(0.5)
    assert cosine.factor(10, 10) == pytest.approx(0)


def test_the_scheduled_rate_is_the_one_that_the_update_uses():
    model = linear_model()
    start = model.weight.detach().clone()
    slope = Objective(lambda model, batch: model.weight, {"sum": lambda output, batch, step: output.sum()})
    optimizer = OptimizerConfig(name="sgd", learning_rate=0.1)
    config = TrainingConfig(steps=4, optimizer=optimizer, schedule=ScheduleConfig(decay="linear"))
    train(model, batches=lambda step: None, objective=slope, config=config)
    # Unit gradient: the displacement is the sum of the rates, 0.1 (1 + 3/4 + 1/2 + 1/4).
    torch.testing.assert_close(start - model.weight.detach(), torch.full((1, 2), 0.25))


def test_an_extra_term_adds_its_own_gradient():
    model = linear_model()
    batch = random_batches(0)
    SQUARES(model, batch, 0)
    alone = model.weight.grad.clone()
    terms = SQUARES.plus(late=lambda output, batch, step: step * output.mean())(model, batch, 5)
    assert torch.allclose(model.weight.grad - alone, 5 * batch[0].mean(0), atol=1e-6)
    assert set(terms) == {"squares", "late"}


def test_evaluations_come_at_the_start_at_every_interval_and_at_the_end():
    seen = train(
        linear_model(),
        batches=random_batches,
        objective=SQUARES,
        config=TrainingConfig(steps=25, evaluate_every=10),
        evaluate=lambda model: {"norm": model.weight.norm().detach().numpy()},
    )
    assert seen.step.tolist() == [0, 10, 20, 25]
    assert seen.values["norm"].shape == (4,)
    assert np.isnan(seen.train_loss[0])
    assert np.isfinite(seen.train_loss[1:]).all()


def test_the_recorded_training_loss_is_the_mean_since_the_last_evaluation():
    losses = []

    def noting(model, batch, step):
        terms = SQUARES(model, batch, step)
        losses.append(float(terms["squares"]))
        return terms

    seen = train(
        linear_model(),
        batches=random_batches,
        objective=noting,
        config=TrainingConfig(steps=20, evaluate_every=10),
        evaluate=lambda model: {},
    )
    assert seen.train_loss[1:].tolist() == pytest.approx([np.mean(losses[:10]), np.mean(losses[10:])])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e9])
def test_a_diverging_loss_stops_the_run_names_the_step_and_keeps_the_last_state(tmp_path, bad):
    run = RunDirectory.open(tmp_path / "run", Settings())
    explode = SQUARES.plus(bomb=lambda output, batch, step: output.sum() * 0 + (bad if step == 7 else 0.0))
    config = TrainingConfig(steps=20, optimizer=OptimizerConfig(learning_rate=0.01))
    with pytest.raises(Diverged, match=r"diverged at step 7 .*bomb = .*lower the learning rate 0\.01"):
        train(
            linear_model(), batches=random_batches, objective=explode, config=config, run=run, pace=Pace(save=0.0)
        )
    _, facts = read_tensors(run.path / "state.safetensors", made_by=run.hash)
    assert facts["step"] == 7


def interrupted_training(folder: Path, stops: list[int]) -> tuple[dict, np.ndarray]:
    """Train 40 steps with a dropout model, interrupted before each of the given steps."""
    run = RunDirectory.open(folder, Settings())
    config = TrainingConfig(steps=40, evaluate_every=7, checkpoints=(0, 15, 40))

    def evaluate(model: nn.Module) -> dict[str, np.ndarray]:
        return {"weights": model[0].weight.detach().numpy().copy()}

    for stop in [*stops, None]:
        torch.manual_seed(11)
        model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))

        def objective(model, batch, step, stop=stop):
            if step == stop:
                raise KeyboardInterrupt
            return SQUARES(model, batch, step)

        try:
            history = train(
                model,
                batches=random_batches,
                objective=objective,
                config=config,
                evaluate=evaluate,
                run=run,
                pace=Pace(save=0.0),
            )
        except KeyboardInterrupt:
            continue
        return {name: value.clone() for name, value in model.state_dict().items()}, history.values["weights"]
    raise AssertionError


@pytest.mark.parametrize("stops", [[1], [7], [14, 15, 16], [39], [3, 21, 22, 35]])
def test_a_run_interrupted_anywhere_resumes_to_the_same_bits(tmp_path, stops):
    whole, seen = interrupted_training(tmp_path / "whole", [])
    pieces, seen_in_pieces = interrupted_training(tmp_path / "pieces", stops)
    assert all(torch.equal(whole[name], pieces[name]) for name in whole)
    assert np.array_equal(seen, seen_in_pieces)
    for name in ("state.safetensors", "checkpoints/step-00000015.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "pieces" / name).read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_met_between_steps_and_nothing_done_is_lost(tmp_path, number):
    run = RunDirectory.open(tmp_path / "run", Settings())

    def signalled(model, batch, step):
        if step == 7:
            os.kill(os.getpid(), number)
        return SQUARES(model, batch, step)

    config, before = TrainingConfig(steps=20), signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        train(linear_model(), batches=random_batches, objective=signalled, config=config, run=run)
    assert read_tensors(run.path / "state.safetensors", made_by=run.hash)[1]["step"] == 8
    assert signal.getsignal(number) == before


KILLED_CONFIG = HSPLearner(
    family=FlatFamily(tasks=4, pool=6, distractors=2),
    model=MLPConfig(width=16),
    training=TrainingConfig(steps=800, evaluate_every=25, checkpoints=(0, 300, 800)),
    batch_size=64,
    panel_inputs=16,
)
KILLED_RUN = textwrap.dedent("""
    import sys
    from pathlib import Path
    import torch
    from quantascope.acquisition.learner import HSPLearner, learn
    from quantascope.training import Pace
    torch.set_num_threads(1)
    config = HSPLearner.model_validate_json(sys.argv[2])
    print("ready", flush=True)
    learn(config, Path(sys.argv[1]), pace=Pace(save=0.01))
""")


def test_a_run_killed_at_any_moment_resumes_to_the_same_files(tmp_path, rng):
    learn(KILLED_CONFIG, tmp_path / "whole")
    command = [sys.executable, "-c", KILLED_RUN, str(tmp_path / "killed"), KILLED_CONFIG.model_dump_json()]
    kills = 0
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0.05, 0.4))
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
    learn(KILLED_CONFIG, tmp_path / "killed")
    assert kills >= 1
    files = sorted(p.relative_to(tmp_path / "whole") for p in (tmp_path / "whole").rglob("*") if p.is_file())
    assert Path("metrics.parquet") in files
    for file in files:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "killed" / file).read_bytes(), file
    assert Trajectory.open(tmp_path / "killed").steps.tolist() == [0, 300, 800]
    assert list((tmp_path / "killed").rglob("*.partial")) == []


def started_run(folder: Path) -> RunDirectory:
    run = RunDirectory.open(folder, Settings())
    train(linear_model(), batches=random_batches, objective=SQUARES, config=TrainingConfig(steps=5), run=run)
    return run


def test_a_truncated_state_is_refused_by_name(tmp_path):
    run = started_run(tmp_path / "run")
    file = run.path / "state.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(DamagedArtefact, match=r"state\.safetensors is damaged or foreign"):
        started_run(run.path)


def test_the_state_of_another_config_is_refused(tmp_path):
    run = started_run(tmp_path / "run")
    other = RunDirectory.open(tmp_path / "other", Settings(note="something else"))
    (other.path / "state.safetensors").write_bytes((run.path / "state.safetensors").read_bytes())
    with pytest.raises(RunMismatch, match="was made by config"):
        train(linear_model(), batches=random_batches, objective=SQUARES, config=TrainingConfig(steps=5), run=other)


def test_the_state_of_another_architecture_is_refused(tmp_path):
    run = started_run(tmp_path / "run")
    with pytest.raises(DamagedArtefact, match="does not hold the state of this run"):
        train(
            nn.Linear(3, 1, bias=False),
            batches=random_batches,
            objective=SQUARES,
            config=TrainingConfig(steps=9),
            run=run,
        )


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    import safetensors.torch

    run = started_run(tmp_path / "run")
    safetensors.torch.save_file({"x": torch.zeros(1)}, run.path / "state.safetensors")
    with pytest.raises(DamagedArtefact, match="was not written by quantascope"):
        started_run(run.path)


def test_a_tied_model_is_trained_in_a_run_and_taken_up_again(tmp_path):
    def tied() -> nn.Sequential:
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, bias=False))
        model[1].weight = model[0].weight
        return model

    config = TrainingConfig(steps=4, optimizer=OptimizerConfig(name="adam"), checkpoints=(0, 4))
    run, first, again = RunDirectory.open(tmp_path, Settings()), tied(), tied()
    for model in (first, again):  # the second time there is nothing left to do but to read the state
        train(model, batches=random_batches, objective=SQUARES, config=config, run=run)
    assert again[1].weight is again[0].weight
    for name, value in first.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)
