"""Guided training: an ordinary network learns a program's task while its blocks are aligned with its Q-model.

learner     what is trained and by which teacher: settings with the changes of a command
network     quantascope's Transformer, or a network in a user's file
teacher     the Q-model of the program, trained now or earlier; a weak one raises an error
target      level sums of the Q-model at the training events, one for each block
lesson      cross-entropy plus alignment, of all events or of some
guide       train, resume or load

The network is saved without the Q-model.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from quantascope.guidance.learner import GuidedLearner, guided_learner
from quantascope.guidance.lesson import Lesson
from quantascope.guidance.network import (
    KEPT_MODEL,
    MODEL,
    OwnNetwork,
    build_network,
    check_network,
    load_network,
    save_network,
)
from quantascope.guidance.target import check_target, lessons_of
from quantascope.guidance.teacher import check_teacher
from quantascope.models import TrainableModel, TransformerConfig, predict
from quantascope.models.device import CPU, find_device, moved
from quantascope.qmodel.compiled.fit import (
    KEPT_PROGRAM,
    CompiledRun,
    check_program_task,
    fresh_qmodel,
    learn_compiled,
    read_compiled,
)
from quantascope.qmodel.compiled.program_task import ProgramTask, program_task
from quantascope.runs.accuracy import read_accuracy, write_accuracy
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.user_file import keep_file
from quantascope.training import Minibatches, Objective, train
from quantascope.training.best import BestCheckpoint, chosen_checkpoint
from quantascope.training.footprint import check_training, count_parameters

RESULT = "accuracy.json"
Watch = Callable[[str, int], AbstractContextManager[Progress | None]]
"""Shows the progress of a run by its name and steps."""


@dataclass(frozen=True, eq=False)
class GuidedRun:
    """A trained network with its exact accuracy on the reported panels; `program` is the program's location."""

    config: GuidedLearner
    model: TrainableModel
    accuracy: dict[str, float]
    program: str

    @property
    def taught(self) -> ProgramTask:
        """The program, compiled, with its task."""
        return program_task(self.program)


def guide(
    out: Path,
    *,
    teacher: Path | None = None,
    program: str | None = None,
    model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    seed: int | None = None,
    weak_teacher: bool = False,
    watch: Watch = lambda name, steps: nullcontext(),
    device: str | torch.device = CPU,
) -> GuidedRun:
    """Train a network at `out` with a teacher; without one, a teacher is trained in `out`/teacher.

    Args:
        out: The run folder.
        teacher: The run of a compiled Q-model.
        program: The program; required if the teacher's program is in a file.
        model: `FILE.py:NAME` of your own network. Default: quantascope's Transformer.
        settings: Settings of a `GuidedLearner` that differ from the defaults.
        changes: Dotted settings, applied last.
        seed: Seed of the network, and of a teacher that is trained here.
        weak_teacher: Accept a teacher that has not learned its program.
        watch: Shows progress.
        device: Device that networks run on.
    """
    where = find_device(device)
    taught = read_compiled(teacher, program=program, device=where) if teacher else None
    config = guided_learner(settings or {}, changes or {}, teacher=taught, program=program, model=model, seed=seed)
    done = is_guided(out)
    if not done:
        compiled = taught.taught if taught else program_task(config.teacher.program)
        check_program_task(config.teacher, compiled, where)
        check_guidance(config, compiled, where)
        if taught and config.weight:
            check_teacher(taught, weak_teacher=weak_teacher)
    RunDirectory.open(out, config)
    if config.weight and taught is None:
        with watch(f"{out.name}/teacher", config.teacher.training.steps) as progress:
            taught = learn_compiled(config.teacher, out / "teacher", progress, device=where)
        if not done:
            check_teacher(taught, weak_teacher=weak_teacher)
    with watch(out.name, config.training.steps) as progress:
        return learn_guided(config, out, taught, progress, device=where)


def learn_guided(
    config: GuidedLearner,
    path: Path,
    teacher: CompiledRun | None,
    progress: Progress | None = None,
    *,
    device: str | torch.device = CPU,
) -> GuidedRun:
    """Train, resume or load the network of this config at `path`, on a device.

    Weight 0 needs no teacher. The teacher is not checked here; `guide` checks what it knows.
    """
    where = find_device(device)
    program = teacher.program if teacher else config.teacher.program
    if not is_guided(path):
        check_guidance(config, program_task(program), where)
    run = RunDirectory.open(path, config)
    keep_file(run, program, KEPT_PROGRAM)
    if isinstance(config.model, OwnNetwork):
        keep_file(run, config.model.file, KEPT_MODEL)

    def make(run: RunDirectory) -> None:
        taught = program_task(program)
        model = fresh_network(config, taught).to(where)
        lessons = moved(lessons_of(config, teacher, taught, model), where)
        asked = taught.events(config.best_on) if config.best_on else None
        best = (
            BestCheckpoint(run, lambda network: {"exact": predict(network, asked).exact_accuracy})
            if asked
            else None
        )
        model.train()
        history = train(
            cast(nn.Module, model),
            batches=_batches(config, lessons),
            objective=guided_objective(config),
            config=config.training,
            seed=config.seed,
            evaluate=best,
            run=run,
            progress=progress,
        )
        model.eval()
        chosen: dict[str, float] = {}
        if best:
            chosen = chosen_checkpoint(history, ("exact",), exact_accuracy(model, taught))
            best.restore(cast(nn.Module, model))
        save_network(path, model, taught.task, made_by=run.hash)
        write_accuracy(path / RESULT, exact_accuracy(model, taught) | chosen, made_by=run.hash)

    run.complete([MODEL, RESULT], make)
    model = load_network(path, config.model, program, made_by=run.hash).to(where)
    return GuidedRun(config, model, read_accuracy(path / RESULT, made_by=run.hash), program)


def fresh_network(config: GuidedLearner, taught: ProgramTask) -> TrainableModel:
    """The network before training."""
    if config.drawn_after == "nothing":
        return build_network(config.model, taught.task, seed=config.seed)
    first = fresh_qmodel(config.teacher.model, taught, seed=config.seed)
    return build_network(config.model, taught.task, seed=config.seed, start=first.drawn_to)


def _batches(config: GuidedLearner, lessons: list[Lesson]) -> Callable[[int], Lesson]:
    if config.batch is None:
        return lambda step: lessons[step % len(lessons)]
    [lesson] = lessons
    chosen = Minibatches(lesson.events, config.batch, config.seed)
    return lambda step: lesson.at(chosen.examples(step))


def is_guided(path: Path) -> bool:
    """Whether a run has its network and its results; missing files are made again."""
    return (path / MODEL).exists() and (path / RESULT).exists()


def check_guidance(config: GuidedLearner, taught: ProgramTask, device: torch.device = CPU) -> None:
    """Raise if the network is invalid or the target does not fit it, before any training."""
    task, events = taught.task, taught.events(config.panel)
    if config.batch is not None:
        Minibatches(events, config.batch)
    if config.best_on:
        task.panel(config.best_on)
    if isinstance(config.model, TransformerConfig):
        parameters = count_parameters(lambda: cast(nn.Module, build_network(config.model, task, seed=0)))
        tokens = len(events.rows) if config.batch is None else config.batch * events.tokens.shape[1]
        activations = tokens * config.model.activations
        size, optimizer = config.model.size, config.training.optimizer
        check_training(parameters, optimizer, what=size, activations=activations, device=device)
    model = build_network(config.model, task, seed=config.seed)
    if isinstance(config.model, OwnNetwork):
        check_network(model, task.events(task.panel(config.panel)[:2]), task, config.model.file)
    check_target(config, taught, model)


def guided_objective(config: GuidedLearner) -> Objective:
    """Cross-entropy, and with a teacher its guidance."""
    ours: dict[str, Any] = {"predictions_only": True, "noise": config.stream_noise}
    options = {} if isinstance(config.model, OwnNetwork) else ours
    objective = Objective(
        forward=lambda model, lesson: model.run(lesson.events, **options),
        terms={"cross_entropy": lambda execution, lesson, step: lesson.cross_entropy(execution)},
    )
    if not config.weight:
        return objective
    return objective.plus(guidance=lambda execution, lesson, step: lesson.alignment(execution))


def exact_accuracy(model: TrainableModel, taught: ProgramTask) -> dict[str, float]:
    """Exact accuracy on every reported panel."""
    asked = {panel: taught.events(panel) for panel in taught.task.reported}
    return {f"{panel}_exact": predict(model, events).exact_accuracy for panel, events in asked.items()}
