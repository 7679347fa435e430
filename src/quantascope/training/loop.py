"""The one training loop of the project.

    state  <- resume or start
    repeat    evaluate if due, save if due
              gradient of the objective on batch(step)
              update with the scheduled learning rate
    until  all steps are taken

Batches are a function of the step, so the state consists of the parameters, the optimizer's moments, the
evaluations so far and a few numbers, saved in one atomic file. A run that is killed at any time resumes and
produces bit-identical results.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import model_validator
from torch import Tensor, nn

from quantascope.runs.config import Config, Count, Positive, PositiveFloat
from quantascope.runs.errors import Diverged
from quantascope.runs.interruption import deferred
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.training.history import History
from quantascope.training.objective import GradientOf
from quantascope.training.optimizer import OptimizerConfig, ScheduleConfig, build_optimizer
from quantascope.training.recorder import Recorder
from quantascope.training.state import TrainingState, load_state, save_state

Evaluation = Callable[[Any], Mapping[str, np.ndarray]]
"""Named arrays measured on the model; the loop stacks them over evaluations."""


class TrainingConfig(Config):
    """Settings of a training: length, optimizer, and what to save."""

    steps: Positive = 20_000
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    evaluate_every: Positive = 50
    checkpoints: tuple[Count, ...] = ()
    stop_above: PositiveFloat = 1e4

    @model_validator(mode="after")
    def _refuse_unreached(self) -> "TrainingConfig":
        if self.checkpoints and max(self.checkpoints) > self.steps:
            raise ValueError(f"checkpoint {max(self.checkpoints)} is beyond the last step {self.steps}")
        if self.schedule.decay != "none" and self.schedule.decay_from >= self.steps:
            raise ValueError(
                f"the decay from step {self.schedule.decay_from} begins after the last, {self.steps}; "
                "lower schedule.decay_from too"
            )
        return self


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds between saved states and between words to the progress display; no effect on the numbers.

    If saving is slow because the model or its history is large, it takes at most a fixed share of the time. With
    `save` zero, every step is saved.
    """

    save: float = 10.0
    saving_share: float = 0.02
    report: float = 0.5


def train(
    model: nn.Module,
    *,
    batches: Callable[[int], Any],
    objective: GradientOf,
    config: TrainingConfig,
    seed: int = 0,
    evaluate: Evaluation | None = None,
    run: RunDirectory | None = None,
    progress: Progress | None = None,
    pace: Pace | None = None,
) -> History:
    """Train `model` in place and return the measurements made during training.

    With a `run`, state and checkpoints are saved there and an interrupted training is resumed. `seed` seeds
    torch's global generator, for models that draw from it, as dropout does.
    """
    torch.manual_seed(seed)
    pace = pace or Pace()
    optimizer = build_optimizer(model, config.optimizer)
    state = (load_state(run, model, optimizer, steps=config.steps) if run else None) or TrainingState()
    recorder = _recorder(model, config, run, state)
    saved = reported = time.monotonic()
    until_save = pace.save
    loss = math.nan
    with deferred() as asked_to_end:
        for step in range(state.step, config.steps):
            if evaluate and step % config.evaluate_every == 0:
                state.note_evaluation(evaluate(model))
            rate = config.optimizer.learning_rate * config.schedule.factor(step, config.steps)
            for group in optimizer.param_groups:
                group["lr"] = rate * group["factor"]
            loss = _finite_loss(objective(model, batches(step), step), step, config, run)
            optimizer.step()
            state.note_update(loss)
            if recorder:
                recorder.step(rate)
                state.mass = recorder.mass
            now = time.monotonic()
            if run and (now - saved >= until_save or asked_to_end()):
                save_state(run, model, optimizer, state)
                saved = time.monotonic()
                until_save = pace.save and max(pace.save, (saved - now) / pace.saving_share)
            if asked_to_end():
                raise KeyboardInterrupt
            if progress and now - reported >= pace.report:
                progress(state.step, loss)
                reported = now
    if evaluate and (not state.evaluated or state.evaluated[-1] != state.step):
        state.note_evaluation(evaluate(model))
    if run:
        save_state(run, model, optimizer, state)
    if progress:
        progress(state.step, loss)
    return state.history()


def _recorder(
    model: nn.Module, config: TrainingConfig, run: RunDirectory | None, state: TrainingState
) -> Recorder | None:
    if run is None or not config.checkpoints:
        return None
    return Recorder(
        model, run.path, steps=frozenset(config.checkpoints), made_by=run.hash, at=state.step, mass=state.mass
    )


def _finite_loss(
    terms: Mapping[str, Tensor], step: int, config: TrainingConfig, run: RunDirectory | None
) -> float:
    values = {name: float(value) for name, value in terms.items()}
    loss = sum(values.values())
    if math.isfinite(loss) and loss <= config.stop_above:
        return loss
    where = f" in {run.path}" if run else ""
    shown = ", ".join(f"{name} = {value:g}" for name, value in values.items())
    raise Diverged(
        f"training diverged at step {step}{where} ({shown}); lower the learning rate "
        f"{config.optimizer.learning_rate:g} or check the data"
    )
