"""A Transformer that learns a program's task, guided by the program's Q-model or not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from quantascope.artefact import read_json, write_json
from quantascope.config import Config, Count, NonNegativeFloat
from quantascope.errors import RunMismatch
from quantascope.experiments.compiled_learner import ADAM, CompiledLearner, CompiledRun, Lesson, lesson
from quantascope.guidance import Guidance, level_sums
from quantascope.models import Execution, Transformer, TransformerConfig, predict
from quantascope.models.deployed import load_transformer, save_transformer
from quantascope.qmodel import Supervision
from quantascope.run import RunDirectory
from quantascope.tasks.events import Events
from quantascope.training import Objective, Progress, ScheduleConfig, TrainingConfig, train

MODEL, RESULT = "model.safetensors", "accuracy.json"
Control = Literal["none", "depth", "examples", "word"]


class GuidedLearner(Config):
    """Cross-entropy plus `weight` times alignment with a teacher; weight 0 is cross-entropy alone.

    A control breaks the target: shuffled over depth, over examples, or over examples that share the output word.
    The defaults are the paper's plain form.
    """

    teacher: CompiledLearner = CompiledLearner()
    model: TransformerConfig = TransformerConfig(blocks=10)
    training: TrainingConfig = TrainingConfig(
        steps=1000, optimizer=ADAM, schedule=ScheduleConfig(decay="linear"), evaluate_every=1000
    )
    weight: NonNegativeFloat = 1.0
    routing: Literal["predicted", "oracle"] = "predicted"
    control: Control = "none"
    level_to_block: tuple[Count, ...] | None = None
    seed: Count = 0

    def build(self, taught: Lesson) -> Transformer:
        """The network before training; the same whether it is guided or not."""
        task = taught.task
        return Transformer(
            vocabulary=len(task.vocabulary), positions=task.positions, config=self.model, seed=self.seed
        )


@dataclass(frozen=True, eq=False)
class GuidedRun:
    """A trained Transformer, and its exact accuracy on the reported panels."""

    config: GuidedLearner
    model: Transformer
    accuracy: dict[str, float]


def learn_guided(
    config: GuidedLearner, path: Path, teacher: CompiledRun | None, progress: Progress | None = None
) -> GuidedRun:
    """Train, or take up, or just read the Transformer of this config at `path`; weight 0 needs no teacher."""
    run = RunDirectory.open(path, config)
    with run.locked():
        if not (path / RESULT).exists():
            taught = lesson(config.teacher.program)
            supervision = taught.supervision("training")
            objective = TASK_OBJECTIVE
            if config.weight:
                objective = objective.plus(guidance=guidance_of(config, teacher, supervision).term)
            model = config.build(taught)
            train(
                model,
                batches=lambda step: supervision.events,
                objective=objective,
                config=config.training,
                seed=config.seed,
                run=run,
                progress=progress,
            )
            save_transformer(path / MODEL, model, taught.task.vocabulary, made_by=run.hash)
            write_json(path / RESULT, exact_accuracy(model.eval(), taught))
        return GuidedRun(config, load_transformer(path / MODEL)[0], read_json(path / RESULT))


def guidance_of(config: GuidedLearner, teacher: CompiledRun | None, asked: Supervision) -> Guidance:
    """The target of the training events, broken as the control says."""
    if teacher is None or teacher.config != config.teacher:
        raise RunMismatch("the teacher was not trained as the config says; train it anew or give its own run")
    routing = asked.active.float() if config.routing == "oracle" else None
    guidance = Guidance.of(
        level_sums(teacher.model, asked.events, routing),
        blocks=config.model.blocks,
        width=config.model.width,
        level_to_block=config.level_to_block,
        weight=config.weight,
        seed=config.seed,
    )
    match config.control:
        case "none":
            return guidance
        case "depth":
            return guidance.shuffled_over_depth(seed=config.seed)
        case "examples":
            return guidance.shuffled_over_events(seed=config.seed)
        case "word":
            return guidance.shuffled_over_events(seed=config.seed, groups=asked.events.target)


def exact_accuracy(model: Transformer, taught: Lesson) -> dict[str, float]:
    """Exact accuracy on every reported panel."""
    asked = {panel: taught.task.events(taught.task.panel(panel)) for panel in taught.task.reported}
    return {f"{panel}_exact": predict(model, events).exact_accuracy for panel, events in asked.items()}


def cross_entropy(execution: Execution, events: Events, step: int) -> Tensor:
    """Mean over events, in nats."""
    return torch.nn.functional.cross_entropy(execution.logits, events.target)


TASK_OBJECTIVE = Objective(
    forward=lambda model, events: model.run(events, predictions_only=True), terms={"cross_entropy": cross_entropy}
)
