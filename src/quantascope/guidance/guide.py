"""A Transformer that learns a program's task, guided by the program's Q-model or not."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import torch
from jaxtyping import Int
from pydantic import model_validator
from torch import Tensor

from quantascope.guidance.alignment import Guidance, event_updates, level_scale, level_sums
from quantascope.models import Execution, Transformer, TransformerConfig, decode, predict
from quantascope.models.saved_transformer import load_transformer, save_transformer
from quantascope.qmodel import CompiledQModel, Supervision
from quantascope.qmodel.compiled.fit import (
    ADAM,
    PAPER_QMODEL,
    CompiledLearner,
    CompiledRun,
    ProgramTask,
    program_task,
)
from quantascope.runs.accuracy import read_accuracy, write_accuracy
from quantascope.runs.config import Config, Count, NonNegativeFloat, Positive, PositiveFloat
from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.user_file import keep_file
from quantascope.tasks.events import PAD, Events
from quantascope.training import Objective, ScheduleConfig, TrainingConfig, train

MODEL, RESULT = "model.safetensors", "accuracy.json"
Control = Literal["none", "depth", "examples", "word"]


class GuidedLearner(Config):
    """Cross-entropy plus `weight` times alignment with a teacher; weight 0 is cross-entropy alone.

    A control breaks the target: shuffled over depth, over examples, or over examples that share the output word.
    `prompts` names a panel whose answers nobody sees: on some of them at every step the network is aligned, and
    only that, along the teacher's own greedy words.
    """

    KIND: ClassVar[str] = "guided network"

    teacher: CompiledLearner = CompiledLearner()
    model: TransformerConfig = TransformerConfig(blocks=10)
    training: TrainingConfig = TrainingConfig(
        steps=1000, optimizer=ADAM, schedule=ScheduleConfig(decay="linear"), evaluate_every=1000
    )
    weight: NonNegativeFloat = 1.0
    routing: Literal["predicted", "oracle"] = "predicted"
    control: Control = "none"
    level_to_block: tuple[Count, ...] | None = None
    window: Positive = 1
    target_norm: PositiveFloat | None = 5.0
    """The length to which the target of every level is brought; as the teacher has it if none is given."""
    stream_noise: NonNegativeFloat = 0.3
    """Spread of the noise on the stream after every block while training, with guidance and without."""
    prompts: str | None = None
    seed: Count = 0

    @model_validator(mode="after")
    def _refuse_ignored(self) -> "GuidedLearner":
        if self.prompts and (self.control != "none" or self.routing == "oracle"):
            raise ValueError(f"prompts '{self.prompts}' go with predicted routing and without a control")
        if not self.weight and (self.prompts or self.control != "none"):
            raise ValueError("weight 0 is without guidance, so prompts and control have no effect; leave them out")
        return self

    def build(self, taught: ProgramTask) -> Transformer:
        """The network before training; the same whether it is guided or not."""
        task = taught.task
        return Transformer(
            vocabulary=len(task.vocabulary), positions=task.positions, config=self.model, seed=self.seed
        )


PLAIN = GuidedLearner(teacher=PAPER_QMODEL, target_norm=None, stream_noise=0.0)
"""The paper's form."""


@dataclass(frozen=True, eq=False)
class GuidedRun:
    """A trained Transformer, and its exact accuracy on the reported panels."""

    config: GuidedLearner
    model: Transformer
    accuracy: dict[str, float]


@dataclass(frozen=True, eq=False)
class Batch:
    """Events of a step: the first `answered` of them are learned, and all are aligned."""

    events: Events
    answered: int
    guidance: Guidance | None = None


def learn_guided(
    config: GuidedLearner, path: Path, teacher: CompiledRun | None, progress: Progress | None = None
) -> GuidedRun:
    """Train, or take up, or just read the Transformer of this config at `path`; weight 0 needs no teacher."""
    if not is_guided(path):
        check_guidance(config)
    run = RunDirectory.open(path, config)
    keep_file(run, config.teacher.program, "program.py")

    def make(run: RunDirectory) -> None:
        taught = program_task(config.teacher.program)
        batches = batches_of(config, teacher, taught)
        model = config.build(taught)
        train(
            model,
            batches=lambda step: batches[step % len(batches)],
            objective=guided_objective(config),
            config=config.training,
            seed=config.seed,
            run=run,
            progress=progress,
        )
        save_transformer(path / MODEL, model, taught.task.vocabulary, made_by=run.hash)
        write_accuracy(path / RESULT, exact_accuracy(model.eval(), taught), made_by=run.hash)

    run.complete([MODEL, RESULT], make)
    model, _ = load_transformer(path / MODEL, made_by=run.hash)
    return GuidedRun(config, model, read_accuracy(path / RESULT, made_by=run.hash))


def is_guided(path: Path) -> bool:
    """Whether a run has its Transformer and what it reached; what is missing is made again."""
    return (path / MODEL).exists() and (path / RESULT).exists()


def check_guidance(config: GuidedLearner) -> None:
    """Refuse levels that do not fit the blocks and a panel that is not there, before any training."""
    taught = program_task(config.teacher.program)
    if config.weight:
        levels = torch.zeros(2, 1 + max(taught.compiled.graph.levels), config.teacher.model.width)
        _controlled(config, guide_by(config, levels, levels), torch.zeros(2, dtype=torch.long))
    if config.prompts:
        taught.task.panel(config.prompts)


def batches_of(config: GuidedLearner, teacher: CompiledRun | None, taught: ProgramTask) -> list[Batch]:
    """What is learned at each step in turn: the full training batch, each time with other prompts if there are."""
    asked = taught.supervision(config.teacher.trained_on)
    if not config.weight:
        return [Batch(asked.events, asked.events.count)]
    if teacher is None or teacher.config != config.teacher:
        raise RunMismatch("the teacher was not trained as the config says; train it anew or give its own run")
    if config.prompts is None:
        return [Batch(asked.events, asked.events.count, guidance_of(config, teacher, asked))]
    spoken, learned = greedy_events(teacher.model, taught, config.prompts), len(asked.events)
    parts = [asked.events.joined(spoken[first : first + learned]) for first in range(0, len(spoken), learned)]
    own = level_sums(teacher.model, asked.events)
    targets = [level_sums(teacher.model, events) for events in parts]
    return [
        Batch(events, asked.events.count, guide_by(config, levels, own))
        for events, levels in zip(parts, targets, strict=True)
    ]


def greedy_events(model: CompiledQModel, taught: ProgramTask, panel: str) -> Events:
    """The prompts of a panel with the Q-model's own answers, where it comes to an end."""
    task = taught.task
    prompts = task.prompts(task.panel(panel))
    end = task.token[taught.compiled.program.end]
    limit = task.positions - max(map(len, prompts)) + 1
    answers = decode(model, prompts, end=end, limit=limit, padding=PAD)
    ended = [row for row, answer in enumerate(answers) if answer[-1] == end]
    if not ended:
        raise InvalidConfig(f"the teacher ends none of its answers to panel '{panel}'; train it longer")
    return Events.of([prompts[row] for row in ended], [answers[row] for row in ended])


def guidance_of(config: GuidedLearner, teacher: CompiledRun, asked: Supervision) -> Guidance:
    """The target of the training events, broken as the control says."""
    routing = asked.active.float() if config.routing == "oracle" else None
    levels = level_sums(teacher.model, asked.events, routing)
    return _controlled(config, guide_by(config, levels, levels), asked.events.target)


def _controlled(config: GuidedLearner, guidance: Guidance, words: Int[Tensor, " events"]) -> Guidance:
    match config.control:
        case "none":
            return guidance
        case "depth":
            return guidance.shuffled_over_depth(seed=config.seed)
        case "examples":
            return guidance.shuffled_over_events(seed=config.seed)
        case "word":
            return guidance.shuffled_over_events(seed=config.seed, groups=words)


def guide_by(config: GuidedLearner, levels: Tensor, own: Tensor) -> Guidance:
    """Guidance by level sums as the config says, brought to length by those of the training events."""
    return Guidance.of(
        levels if config.target_norm is None else levels * level_scale(own, config.target_norm),
        blocks=config.model.blocks,
        width=config.model.width,
        level_to_block=config.level_to_block,
        window=config.window,
        weight=config.weight,
        seed=config.seed,
    )


def exact_accuracy(model: Transformer, taught: ProgramTask) -> dict[str, float]:
    """Exact accuracy on every reported panel."""
    asked = {panel: taught.task.events(taught.task.panel(panel)) for panel in taught.task.reported}
    return {f"{panel}_exact": predict(model, events).exact_accuracy for panel, events in asked.items()}


def guided_objective(config: GuidedLearner) -> Objective:
    """Cross-entropy, and with a teacher its guidance."""
    objective = Objective(
        forward=lambda model, batch: model.run(batch.events, predictions_only=True, noise=config.stream_noise),
        terms={"cross_entropy": cross_entropy},
    )
    return objective.plus(guidance=guidance_term) if config.weight else objective


def cross_entropy(execution: Execution, batch: Batch, step: int) -> Tensor:
    """Mean over the events that are learned, in nats."""
    target = batch.events.target[: batch.answered]
    return torch.nn.functional.cross_entropy(execution.logits[: batch.answered], target)


def guidance_term(execution: Execution, batch: Batch, step: int) -> Tensor:
    """Alignment of all events."""
    assert batch.guidance is not None
    return batch.guidance.alignment(event_updates(execution, batch.events))
