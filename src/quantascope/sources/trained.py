"""The source of a discovery: one Transformer that learns to name numbers, with its trajectory."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from quantascope.models import Predictions, Transformer, TransformerConfig, predict
from quantascope.runs.artefact import read_json, read_table, write_table
from quantascope.runs.config import Config, Count, Positive
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_settings
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import PANELS, POSITIONS, VOCABULARY, length_balanced, naming_events
from quantascope.training import (
    History,
    Objective,
    OptimizerConfig,
    Pace,
    ScheduleConfig,
    TrainingConfig,
    Trajectory,
    train,
)
from quantascope.training.checkpoint_names import find_checkpoints

METRICS = "metrics.parquet"
REPORTED = ("training", "test", "zero_gap", "short_tail")
"""Panels that a trained network is shown on."""


class NamingSource(Config):
    """A Transformer on the full batch of training events; by default the paper's reference source.

    Checkpoints are kept at the ends of equal intervals, where priority is measured, and at `replays` even steps,
    which a Q-model replays.
    """

    split: Literal["compositional", "length_balanced"] = "compositional"
    model: TransformerConfig = TransformerConfig()
    steps: Positive = 5000
    optimizer: OptimizerConfig = OptimizerConfig(name="sgd", learning_rate=0.03)
    schedule: ScheduleConfig = ScheduleConfig()
    intervals: Positive = 40
    replays: Count = 200
    seed: Count = 0

    @property
    def interval_steps(self) -> list[int]:
        """Steps between which priority is measured."""
        return sorted(set(np.rint(np.linspace(0, self.steps, self.intervals + 1)).astype(int).tolist()))

    @property
    def replay_steps(self) -> list[int]:
        """Steps that a Q-model replays."""
        return sorted(set(np.rint(np.linspace(1, self.steps, self.replays)).astype(int).tolist()))

    @property
    def training(self) -> TrainingConfig:
        """The same as a config of the training loop; the loss of every step is noted."""
        return TrainingConfig(
            steps=self.steps,
            optimizer=self.optimizer,
            schedule=self.schedule,
            evaluate_every=1,
            checkpoints=tuple(sorted({*self.interval_steps, *self.replay_steps})),
        )

    def numbers(self) -> tuple[int, ...]:
        """The numbers that are trained on."""
        return PANELS["training"]() if self.split == "compositional" else length_balanced(300, seed=self.seed)

    def build(self) -> Transformer:
        """The network before training."""
        return Transformer(vocabulary=len(VOCABULARY), positions=POSITIONS, config=self.model, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Source:
    """A trained source: its config, losses and checkpoints."""

    config: NamingSource
    path: Path
    history: History

    @cached_property
    def trajectory(self) -> Trajectory:
        """All checkpoints that were kept."""
        return Trajectory.open(self.path)

    @cached_property
    def events(self) -> Events:
        """The training events."""
        return naming_events(self.config.numbers())

    def model(self, step: int | None = None) -> Transformer:
        """The network after so many steps; after the last if none is given."""
        model = self.config.build()
        model.load_state_dict(self.trajectory.at([self.config.steps if step is None else step]).load(0))
        return model.eval()

    def summary(self) -> dict[str, int | float]:
        """What became of the training, in three numbers."""
        return {
            "steps": self.config.steps,
            "train_loss": float(self.step_loss[-1]),
            "rising_share": self.rising_share,
        }

    @property
    def step_loss(self) -> np.ndarray:
        """Training loss before each update."""
        return self.history.train_loss[1:]

    @property
    def rising_share(self) -> float:
        """Share of updates after which the training loss was higher."""
        return float((np.diff(self.step_loss) > 0).mean()) if len(self.step_loss) > 1 else 0.0


def read_naming_config(file: Path | None, *, seed: int | None) -> NamingSource:
    """The source that a JSON file describes, or the paper's; with another seed if one is given."""
    config = NamingSource.parse(read_settings(file))
    return config if seed is None else config.replace({"seed": seed})


def learn_naming(
    config: NamingSource, path: Path, progress: Progress | None = None, pace: Pace | None = None
) -> Source:
    """Train, or take up, or just read the source of this config at `path`."""
    run = RunDirectory.open(path, config)
    with run.locked():
        if not (path / METRICS).exists():
            events = naming_events(config.numbers())
            history = train(
                config.build(),
                batches=lambda step: events,
                objective=NAMING_OBJECTIVE,
                config=config.training,
                seed=config.seed,
                evaluate=lambda model: {},
                run=run,
                progress=progress,
                pace=pace,
            )
            write_table(path / METRICS, history.to_table(), made_by=run.hash)
        return Source(config, path, History.from_table(read_table(path / METRICS, made_by=run.hash)))


def read_source(path: Path) -> Source:
    """The trained source in a run directory."""
    file = path / "config.json"
    if not file.is_file():
        if path.is_dir() and find_checkpoints(path):
            raise DamagedArtefact(
                f"{path} holds checkpoints but is not a run of number naming; measure your own model with "
                "quantascope.priority_field, as docs/discovery.md shows"
            )
        raise DamagedArtefact(f"{path} is not a run; make one with quantascope train number-naming --out {path}")
    found: Any = read_json(file)
    if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
        raise DamagedArtefact(f"{file} is not the config of a quantascope run; choose another folder")
    if found.get("kind") != NamingSource.__name__:
        raise RunMismatch(
            f"{path} is a run of {found.get('kind')}, not of number naming; "
            "make one with quantascope train number-naming"
        )
    run = RunDirectory.open(path, NamingSource.parse(found["config"]))
    if not (path / METRICS).exists():
        raise DamagedArtefact(
            f"{path} is not trained to its end; quantascope train number-naming --out {path} takes it up"
        )
    history = History.from_table(read_table(path / METRICS, made_by=run.hash))
    assert isinstance(run.config, NamingSource)
    return Source(run.config, path, history)


def cross_entropy(logits: Tensor, events: Events, step: int) -> Tensor:
    """Mean over events, in nats."""
    return nn.functional.cross_entropy(logits, events.target)


NAMING_OBJECTIVE = Objective(forward=lambda model, events: model(events), terms={"cross_entropy": cross_entropy})


def naming_table(source: Source, panels: tuple[str, ...]) -> pl.DataFrame:
    """Accuracy on the training numbers and on what is untrained of other panels, whole and by digit length."""
    rows, model = [], source.model()
    for panel in panels:
        numbers = np.array(panel_numbers(source.config, panel))
        predictions = predict(model, naming_events(numbers.tolist()))
        length = np.char.str_len(numbers.astype(str))
        rows.append(_row(panel, "all", predictions, np.full(len(numbers), True)))
        rows += [_row(panel, str(n), predictions, length == n) for n in np.unique(length)]
    return pl.DataFrame(rows, orient="row", schema=["panel", "digits", "numbers", "token", "exact", "nll"])


def panel_numbers(config: NamingSource, panel: str) -> tuple[int, ...]:
    """The numbers of a panel for a source: those trained on, or what it was not shown of a held-out panel."""
    if panel not in PANELS:
        raise InvalidConfig(f"there is no panel '{panel}'; there are {', '.join(PANELS)}")
    trained = config.numbers()
    if panel == "training":
        return trained
    if panel == "contaminated":
        return PANELS[panel]()
    return tuple(number for number in PANELS[panel]() if number not in set(trained))


def _row(panel: str, digits: str, predictions: Predictions, kept: np.ndarray) -> tuple[Any, ...]:
    examples = torch.from_numpy(kept)
    events = examples[predictions.events.example]
    return (
        panel,
        digits,
        int(kept.sum()),
        float(predictions.correct[events].double().mean()),
        float(predictions.exact[examples].double().mean()),
        float(predictions.nll[events].mean()),
    )
