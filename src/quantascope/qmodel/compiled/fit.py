"""Trains a compiled Q-model on its program's task, from the training inputs and the program's traces."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from quantascope.models import Predictions, predict
from quantascope.models.device import CPU, device_of, find_device, moved
from quantascope.qmodel import CompiledConfig, CompiledQModel, QExecution, SupervisedQModel, Supervision, gate_loss
from quantascope.qmodel.compiled.authors import output_places
from quantascope.qmodel.compiled.knowledge import Knowledge, measure_knowledge
from quantascope.qmodel.compiled.program_task import ProgramTask, program_task
from quantascope.qmodel.compiled.saved import load_qmodel, save_qmodel
from quantascope.qmodel.compiled.supervision import Read, taught_quanta
from quantascope.runs.accuracy import read_accuracy, write_accuracy
from quantascope.runs.config import Config, NonNegativeFloat, Positive, Seed, Share
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_run
from quantascope.sources.user_file import check_named, keep_file
from quantascope.tasks.events import Events
from quantascope.training import Minibatches, Objective, OptimizerConfig, ScheduleConfig, TrainingConfig, train
from quantascope.training.best import BestCheckpoint, chosen_checkpoint
from quantascope.training.footprint import check_training, count_parameters
from quantascope.training.objective import GradientOf

MODEL, RESULT, KNOWLEDGE, KEPT_PROGRAM = "qmodel.safetensors", "accuracy.json", "knowledge.json", "program.py"
ADAM = OptimizerConfig(name="adam", learning_rate=1e-2, epsilon=1e-5, weight_decay=1e-3)


class CompiledLearner(Config):
    """Training settings of a compiled Q-model: cross-entropy + gate loss + semantic loss, with noisy messages.

    With noise, a message has little capacity beyond the quantum's output, which must be sent with a large norm.
    """

    KIND: ClassVar[str] = "compiled Q-model"
    LATER: ClassVar[tuple[str, ...]] = ("batch", "semantics", "best_on")

    program: str = "english"
    trained_on: str = "training"
    """The training panel of the program's task."""
    model: CompiledConfig = CompiledConfig()
    training: TrainingConfig = TrainingConfig(
        steps=2000, optimizer=ADAM, schedule=ScheduleConfig(decay="linear"), evaluate_every=1000
    )
    gate_weight: NonNegativeFloat = 5.0
    semantic_weight: NonNegativeFloat = 5.0
    message_noise: NonNegativeFloat = 1.0
    """Standard deviation of the noise on messages during training."""
    noise_warmup: Share = 0.25
    """Share of the steps over which the noise ramps up; full noise from the start hurts generalization."""
    batch: Positive | None = None
    """Examples per update; None for all."""
    semantics: Read = "messages"
    """What semantic heads read."""
    best_on: str | None = None
    """Keep the checkpoint that is best on this panel, as the paper's authors do on the evaluation set. This makes
    its accuracy there optimistic: for comparison only. Default: the last."""
    seed: Seed = 0

    def noise_at(self, step: int) -> float:
        """The standard deviation of the noise at a step.

        >>> [CompiledLearner().noise_at(step) for step in (0, 250, 500, 1999)]
        [0.0, 0.5, 1.0, 1.0]
        """
        rising = self.noise_warmup * self.training.steps
        return self.message_noise * (min(1.0, step / rising) if rising else 1.0)


PAPER_QMODEL = CompiledLearner(
    training=TrainingConfig(
        steps=1000, optimizer=ADAM, schedule=ScheduleConfig(decay="linear", decay_from=500), evaluate_every=1000
    ),
    gate_weight=2.0,
    semantic_weight=1.0,
    message_noise=0.0,
    noise_warmup=0.0,
)
"""The paper's settings."""
RELEASED_QMODEL = PAPER_QMODEL.replace(
    {
        "model.initialization": "paper",
        "semantics": "contents",
        "training.schedule.zero_update": True,
        "training.evaluate_every": 20,
        "best_on": "balanced",
    }
)
"""The paper's settings as its released code has them, with its draws and its choice on the evaluation set."""


@dataclass(frozen=True, eq=False)
class CompiledRun:
    """A trained Q-model and its exact accuracy on the reported panels, under predicted and oracle routing.

    Exact means equal to the program's output, even if the task has exceptions.

    `knowledge` measures how well it has learned its program; it is None for older runs. `program` is the program's
    current location.
    """

    config: CompiledLearner
    model: CompiledQModel
    accuracy: dict[str, float]
    knowledge: Knowledge | None
    program: str

    @property
    def taught(self) -> ProgramTask:
        """The program, compiled, with its task."""
        return program_task(self.program)


def learn_compiled(
    config: CompiledLearner,
    path: Path,
    progress: Progress | None = None,
    *,
    device: str | torch.device = CPU,
) -> CompiledRun:
    """Train, resume or read the Q-model of this config at `path`, on a device."""
    where = find_device(device)
    if not is_trained(path):
        check_program_task(config, program_task(config.program), where)
    run = RunDirectory.open(path, config)
    keep_file(run, config.program, KEPT_PROGRAM)

    def make(run: RunDirectory) -> None:
        taught = program_task(config.program)
        supervised, chosen = _train(config, taught, run, progress, where)
        save_qmodel(path / MODEL, supervised.model, taught.task.vocabulary, made_by=run.hash)
        measure_knowledge(supervised, taught, config.trained_on).save(path / KNOWLEDGE, made_by=run.hash)
        write_accuracy(path / RESULT, routed_accuracy(supervised.model, taught) | chosen, made_by=run.hash)

    run.complete([MODEL, RESULT], make)
    return _read(config, path, config.program, where)


def is_trained(path: Path) -> bool:
    """Whether a run has its Q-model and its results; missing files are made again."""
    return (path / MODEL).exists() and (path / RESULT).exists()


def check_program_task(config: CompiledLearner, taught: ProgramTask, device: torch.device = CPU) -> None:
    """Raise if the program does not write its task's answers, before training and before writing files."""
    taught.check_outcomes(config.trained_on)
    _batches(config, taught.supervision(config.trained_on))
    chosen = (config.best_on,) if config.best_on else ()
    for panel in dict.fromkeys((config.trained_on, *chosen, *taught.task.reported)):
        taught.supervision(panel)
    parameters = count_parameters(lambda: _build(config, taught))
    size = f"a Q-model of width={config.model.width}"
    check_training(parameters, config.training.optimizer, what=size, device=device)


def read_compiled(path: Path, *, program: str | None = None, device: str | torch.device = CPU) -> CompiledRun:
    """Load the trained Q-model of a run folder; a program in a file must be named and match the saved text."""
    where, config = find_device(device), read_run(path).parse(CompiledLearner, make="quantascope train compiled")
    if not is_trained(path):
        end = f"quantascope train compiled --out {path}"
        raise DamagedArtefact(f"the training of {path} is not finished; {end} resumes it")
    named = check_named(path / KEPT_PROGRAM, config.program, program, option="--program")
    return _read(config, path, named, where)


def _read(config: CompiledLearner, path: Path, program: str, device: torch.device) -> CompiledRun:
    model, _ = load_qmodel(path / MODEL, made_by=config.hash())
    accuracy = read_accuracy(path / RESULT, made_by=config.hash())
    kept = path / KNOWLEDGE
    knowledge = Knowledge.load(kept, made_by=config.hash()) if kept.exists() else None
    return CompiledRun(config, model.to(device), accuracy, knowledge, program)


def _train(
    config: CompiledLearner,
    taught: ProgramTask,
    run: RunDirectory,
    progress: Progress | None,
    device: torch.device,
) -> tuple[SupervisedQModel, dict[str, float]]:
    """The trained Q-model; if it is the best of several checkpoints, its step and the accuracy of the last."""
    supervised = _build(config, taught).to(device)
    supervision = moved(taught.supervision(config.trained_on), device)
    asked = taught.supervision(config.best_on) if config.best_on else None
    best = BestCheckpoint(run, lambda trained: routed_scores(trained.model, asked)) if asked else None
    history = train(
        supervised,
        batches=_batches(config, supervision),
        objective=compiled_objective(config),
        config=config.training,
        seed=config.seed,
        evaluate=best,
        run=run,
        progress=progress,
    )
    supervised.eval()
    if best is None:
        return supervised, {}
    last = routed_accuracy(supervised.model, taught)
    best.restore(supervised)
    return supervised, chosen_checkpoint(history, SCORES, last)


def _batches(config: CompiledLearner, supervision: Supervision) -> Callable[[int], Supervision]:
    if config.batch is None:
        return lambda step: supervision
    chosen = Minibatches(supervision.events, config.batch, config.seed)
    return lambda step: supervision.at(chosen.examples(step))


def fresh_qmodel(config: CompiledConfig, taught: ProgramTask, *, seed: int) -> CompiledQModel:
    """The Q-model of a program before training."""
    task = taught.task
    return CompiledQModel(
        graph=taught.compiled.graph,
        vocabulary=len(task.vocabulary),
        positions=task.positions,
        config=config,
        seed=seed,
    )


def _build(config: CompiledLearner, taught: ProgramTask) -> SupervisedQModel:
    model = fresh_qmodel(config.model, taught, seed=config.seed)
    outcomes = tuple(len(values) for values in taught.compiled.outcomes)
    if config.model.initialization != "paper":
        return SupervisedQModel(model, outcomes, seed=config.seed, reads=config.semantics)
    places = [
        output_places(values) if quantum in taught_quanta(outcomes) else []
        for quantum, values in enumerate(taught.compiled.outcomes)
    ]
    return SupervisedQModel(model, outcomes, seed=config.seed, reads=config.semantics, places=places)


def compiled_objective(config: CompiledLearner) -> GradientOf:
    """Cross-entropy of the task, of the gates on eligible events, and of the semantic values."""

    def task(output: tuple[SupervisedQModel, QExecution], batch: Supervision, step: int) -> Tensor:
        return torch.nn.functional.cross_entropy(output[1].logits, batch.events.target)

    def gates(output: tuple[SupervisedQModel, QExecution], batch: Supervision, step: int) -> Tensor:
        return config.gate_weight * gate_loss(output[1].gate, batch.active, batch.eligible)

    def semantics(output: tuple[SupervisedQModel, QExecution], batch: Supervision, step: int) -> Tensor:
        return config.semantic_weight * output[0].semantic_loss(output[1], batch.outcome)

    def gradient(model: SupervisedQModel, batch: Supervision, step: int) -> Mapping[str, Tensor]:
        noise = config.noise_at(step)
        objective = Objective(
            forward=lambda model, batch: (model, model.model.run(batch.events, noise=noise)),
            terms={"cross_entropy": task, "gates": gates, "semantics": semantics},
        )
        return objective(model, batch, step)

    return gradient


def routed_accuracy(model: CompiledQModel, taught: ProgramTask) -> dict[str, float]:
    """Exact accuracy on every reported panel, with predicted routing and with the program's routing."""
    found = {}
    for panel in taught.task.reported:
        asked = taught.supervision(panel)
        found[f"{panel}_exact"] = predict(model, asked.events).exact_accuracy
        found[f"{panel}_exact_oracle"] = predict_routed(model, asked).exact_accuracy
    return found


SCORES = ("exact", "tokens", "routing")


@torch.no_grad()
def routed_scores(model: CompiledQModel, asked: Supervision) -> dict[str, float]:
    """Exact and token accuracy with predicted routing, and minus the mean difference of activity and program."""
    device, far = device_of(model), []
    done = 0

    def run(part: Events) -> Tensor:
        nonlocal done
        execution = model.run(part.to(device))
        wanted = asked.active[:, done : done + part.count].to(device)
        far.append((execution.activity - wanted.float()).abs().mean(0))
        done += part.count
        return execution.logits

    found = predict(run, asked.events)
    return dict(
        zip(SCORES, (found.exact_accuracy, found.token_accuracy, -float(torch.cat(far).mean())), strict=True)
    )


def predict_routed(model: CompiledQModel, asked: Supervision) -> Predictions:
    """Predictions under the program's routing."""
    device, done = device_of(model), 0
    routing = asked.active.float().to(device)

    def routed(part: Events) -> Tensor:
        nonlocal done
        done += part.count
        return model.run(part.to(device), routing[:, done - part.count : done]).logits

    return predict(routed, asked.events)
