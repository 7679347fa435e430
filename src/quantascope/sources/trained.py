"""A source trained by quantascope: a Transformer on a sequence task, with its trajectory."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
import torch
from pydantic import Field
from torch import Tensor, nn

from quantascope.models import Predictions, Transformer, TransformerConfig, predict
from quantascope.models.device import CPU, find_device
from quantascope.models.transformer import hidden_units
from quantascope.programs import NUMBER_NAMING, find_task
from quantascope.runs.config import Config, Count, Positive, Seed, dotted
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, is_run, read_run, read_settings
from quantascope.sources.data_record import check_data, keep_data
from quantascope.sources.losses import ModuleLosses
from quantascope.sources.source import Source
from quantascope.sources.user_file import check_named, keep_file
from quantascope.tasks.events import Events
from quantascope.tasks.sequence import SequenceTask
from quantascope.training import (
    History,
    Minibatches,
    Objective,
    OptimizerConfig,
    Pace,
    ScheduleConfig,
    TrainingConfig,
    Trajectory,
    train,
)
from quantascope.training.footprint import check_training, count_parameters
from quantascope.training.spacing import Spacing, interval_ends

METRICS = "metrics.parquet"
KEPT_TASK = "task.py"
MOST_CHECKPOINTS = 10**6
MAKE = "quantascope train TASK --out RUN"


class SourceConfig(Config):
    """A Transformer on a task's training events, all at once or in minibatches; by default the paper's source.

    Checkpoints are saved at the ends of the intervals in which priority is measured, and at `replays` evenly
    spaced steps, which a Q-model replays.
    """

    KIND: ClassVar[str] = "source"
    LATER: ClassVar[tuple[str, ...]] = ("batch", "measured_on", "spacing")

    task: str = NUMBER_NAMING
    trained_on: str = "training"
    model: TransformerConfig = TransformerConfig()
    steps: Positive = 5000
    optimizer: OptimizerConfig = OptimizerConfig(name="sgd", learning_rate=0.03)
    schedule: ScheduleConfig = ScheduleConfig()
    intervals: Annotated[Positive, Field(le=MOST_CHECKPOINTS)] = 40
    spacing: Spacing = "equal"
    replays: Annotated[Count, Field(le=MOST_CHECKPOINTS)] = 200
    batch: Positive | None = None
    """Examples per update; None for all."""
    measured_on: str | None = None
    """Subset of the training panel whose events are measured and fitted; None for all of it."""
    seed: Seed = 0

    @property
    def interval_steps(self) -> list[int]:
        """Steps between which priority is measured."""
        return interval_ends(self.steps, self.intervals, self.spacing)

    @property
    def replay_steps(self) -> list[int]:
        """Steps that a Q-model replays."""
        return sorted(set(np.rint(np.linspace(1, self.steps, self.replays)).astype(int).tolist()))

    @property
    def training(self) -> TrainingConfig:
        """These settings as a config of the training loop that records the loss of every step."""
        return TrainingConfig(
            steps=self.steps,
            optimizer=self.optimizer,
            schedule=self.schedule,
            evaluate_every=1,
            checkpoints=tuple(sorted({*self.interval_steps, *self.replay_steps})),
        )

    def build(self, task: SequenceTask) -> Transformer:
        """The network before training."""
        return Transformer(
            vocabulary=len(task.vocabulary), positions=task.positions, config=self.model, seed=self.seed
        )


def read_source_config(file: Path | None, *, task: str, seed: int | None) -> SourceConfig:
    """The config in a JSON file, or the paper's, for this task, with another seed if one is given."""
    suggested = SourceConfig.parse({"task": task, **find_task(task).settings})
    config = suggested.replace(dotted(read_settings(file)))
    return config if seed is None else config.replace({"seed": seed})


def train_source(
    config: SourceConfig,
    path: Path,
    progress: Progress | None = None,
    pace: Pace | None = None,
    *,
    device: str | torch.device = CPU,
) -> Source:
    """Train, resume or load the source of this config at `path`, on a device."""
    where = find_device(device)
    task = find_task(config.task)
    if not (path / METRICS).exists():
        check_source(config, where)
    run = RunDirectory.open(path, config)
    keep_file(run, config.task, KEPT_TASK)

    def make(run: RunDirectory) -> None:
        keep_data(run, task)
        events = task.events(task.panel(config.trained_on)).to(where)
        batches = Minibatches(events, config.batch, config.seed) if config.batch else lambda step: events
        history = train(
            config.build(task).to(where),
            batches=batches,
            objective=OBJECTIVE,
            config=config.training,
            seed=config.seed,
            evaluate=lambda model: {},
            run=run,
            progress=progress,
            pace=pace,
        )
        history.save(path / METRICS, made_by=run.hash)

    run.complete([METRICS], make)
    return _source(config, path, task, where)


def check_source(config: SourceConfig, device: torch.device = CPU) -> None:
    """Raise if the source cannot be trained: impossible settings, unknown panel, too little memory."""
    task, training = find_task(config.task), config.training
    events = task.events(task.panel(config.trained_on))
    if config.measured_on is not None:
        task.panel(config.measured_on)
    tokens = len(events.rows) if config.batch is None else config.batch * events.tokens.shape[1]
    parameters = count_parameters(lambda: config.build(task))
    activations = tokens * config.model.activations
    size = config.model.size
    check_training(parameters, training.optimizer, what=size, activations=activations, device=device)


def read_source(path: Path, *, task: str | None = None, device: str | torch.device = CPU) -> Source:
    """Load the trained source of a run folder; a task file runs only if it is named and matches the saved text."""
    where, config = find_device(device), _trained_config(path)
    named = check_named(path / KEPT_TASK, config.task, task, option="--task")
    found = find_task(named)
    check_data(path, found)
    return _source(config, path, found, where)


def planned_steps(path: Path) -> tuple[int, ...]:
    """Steps of the checkpoints of the source at `path`; none for another kind of folder."""
    if not is_run(path) or read_run(path).kind != SourceConfig.KIND:
        return ()
    return _trained_config(path).training.checkpoints


def _trained_config(path: Path) -> SourceConfig:
    config = read_run(path).parse(SourceConfig, make=MAKE)
    if not (path / METRICS).exists():
        raise DamagedArtefact(
            f"the training of {path} is not finished; quantascope train {config.task} --out {path}, with the same "
            "--set as before, resumes it"
        )
    return config


def source_config(source: Source) -> SourceConfig:
    """The config of a source that quantascope trained."""
    return read_run(source.folder).parse(SourceConfig, make=MAKE)


def _source(config: SourceConfig, path: Path, task: SequenceTask, device: torch.device) -> Source:
    history = History.load(path / METRICS, made_by=config.hash(), steps=config.steps)
    trajectory = Trajectory.open(path, made_by=config.hash())

    def model_at(step: int) -> Transformer:
        model = config.build(task)
        model.load_state_dict(trajectory.at([step]).load(0))
        return model.eval()

    return Source(
        folder=path,
        identity=config.hash(),
        trajectory=trajectory.at(config.interval_steps),
        series=trajectory,
        losses=ModuleLosses(config.build(task)),
        layers={f"block {block}": f"blocks.{block}.*" for block in range(config.model.blocks)},
        task=task,
        trained_on=config.trained_on,
        measured_on=config.measured_on,
        model_at=model_at,
        replay_steps=tuple(config.replay_steps) if config.replays else (),
        hidden_units=hidden_units(config.model),
        step_loss=history.train_loss[1:] if config.batch is None else None,
        device=device,
    )


def _cross_entropy(logits: Tensor, events: Events, step: int) -> Tensor:
    """Mean over events, in nats."""
    return nn.functional.cross_entropy(logits, events.target)


OBJECTIVE = Objective(forward=lambda model, events: model(events), terms={"cross_entropy": _cross_entropy})


def source_summary(source: Source) -> dict[str, Any]:
    """The outcome of the training in three numbers."""
    history = History.load(source.folder / METRICS, made_by=source.identity, steps=int(source.steps[-1]))
    return {
        "steps": source.steps[-1],
        "train_loss": float(history.train_loss[-1]),
        "rising_share": source.rising_share,
    }


def accuracy_table(source: Source) -> pl.DataFrame:
    """Accuracy on the training inputs and on unseen inputs of other panels, in total and by prompt length."""
    task, model = source.sequence_task, source.model()
    panels = dict.fromkeys(["training", source.task.roles.test or "training", *task.reported[1:]])
    rows: list[tuple[Any, ...]] = []
    for panel in panels:
        inputs = source.inputs(panel)
        predictions = predict(model, source.events(panel))
        length = np.array([len(tuple(task.key(one))) for one in inputs])
        rows.append(_row(panel, "all", predictions, np.full(len(inputs), True)))
        rows += [_row(panel, str(n), predictions, length == n) for n in np.unique(length)]
    return pl.DataFrame(rows, orient="row", schema=["panel", "length", "inputs", "token", "exact", "nll"])


def _row(panel: str, length: str, predictions: Predictions, kept: np.ndarray) -> tuple[Any, ...]:
    examples = torch.from_numpy(kept)
    events = examples[predictions.events.example]
    return (
        panel,
        length,
        int(kept.sum()),
        float(predictions.correct[events].double().mean()),
        float(predictions.exact[examples].double().mean()),
        float(predictions.nll[events].mean()),
    )
