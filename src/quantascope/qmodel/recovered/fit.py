"""Fits the recovered Q-model of a source by replaying the source's checkpoints.

source   -> replays     the source's outputs at each checkpoint on the inputs, computed once
replays  -> Q-model     one Adam update per drawn checkpoint
Q-model  -> files       a model that runs without the source
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from quantascope.discovery import Factors
from quantascope.discovery.discover import read_factors
from quantascope.models.residual import ResidualModel
from quantascope.qmodel.recovered.config import FIT_PRESETS, FitPreset, RecoveredFit
from quantascope.qmodel.recovered.intervened import IntervenedObjective
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.necessity import NecessaryChannels
from quantascope.qmodel.recovered.replay import CheckpointReplay
from quantascope.qmodel.recovered.saved import WEIGHTS, QModel
from quantascope.runs.artefact import read_table
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_run
from quantascope.sources.source import Source
from quantascope.training import Objective, train
from quantascope.training.objective import GradientOf

SEMANTICS = "semantics.parquet"
"""File of unit descriptions that quantascope explain writes beside a Q-model."""


@dataclass(frozen=True, eq=False)
class RecoveredRun:
    """A fitted Q-model with its source and factors."""

    config: RecoveredFit
    path: Path
    replay: CheckpointReplay
    qmodel: QModel

    @property
    def source(self) -> Source:
        """The source of the Q-model."""
        return self.replay.source

    @property
    def model(self) -> RecoveredQModel:
        """The fitted network."""
        return self.qmodel.model

    def unfitted(self) -> RecoveredQModel:
        """The network before its fit, a null: it has the same units, and of the source the interface alone."""
        source = self.source.model()
        return self.replay.build(self.config, source.depth, source.interface())

    @property
    def descriptions(self) -> dict[str, str]:
        """The descriptions of quanta and writers by name, if they were explained."""
        file = self.path / SEMANTICS
        if not file.is_file():
            return {}
        table = read_table(file, made_by=self.config.hash(), columns={"unit": "text", "description": "text"})
        return dict(zip(table["unit"], table["description"], strict=True))


def fit_recovered(
    config: RecoveredFit,
    source: Source,
    factors: Factors,
    path: Path,
    progress: Progress | None = None,
    *,
    replace: bool = False,
) -> RecoveredRun:
    """Fit, resume or load the Q-model of this config at `path`; `replace` overwrites one of another config."""
    replay, vocabulary = CheckpointReplay.of(source, factors), source.sequence_task.vocabulary
    if replace or not (path / WEIGHTS).exists():
        replay.check(config)

    def make(run: RunDirectory) -> None:
        QModel(_fit(config, replay, run, progress), vocabulary).save(path, made_by=run.hash)

    remedy = "fit it again with --replace, or move it away"
    RunDirectory.open(path, config, replace=replace, remedy=remedy).complete([WEIGHTS], make)
    return _read(config, path, replay)


def _fit(
    config: RecoveredFit, replay: CheckpointReplay, run: RunDirectory, progress: Progress | None
) -> RecoveredQModel:
    source = replay.source.model()
    model = replay.build(config, source.depth, source.interface()).to(replay.source.device)
    if progress:
        progress(0, math.nan)  # the replay takes a while
    targets = replay.all(config.pool, config.parts, config.seed)
    chance = np.repeat(np.arange(1, len(replay.steps) + 1) ** config.late, config.parts)

    def batches(step: int) -> tuple[ReplayedCheckpoint, bool]:
        drawn = np.random.default_rng([config.seed, step]).choice(len(targets), p=chance / chance.sum())
        return targets[drawn], step >= (1 - config.frozen_share) * config.updates

    train(
        model,
        batches=batches,
        objective=ClippedObjective(_objective(config, source, targets), config.clip),
        config=config.training,
        seed=config.seed,
        run=run,
        progress=progress,
    )
    return model.eval()


def recovery_objective(config: RecoveredFit) -> Objective:
    """The loss of a replayed checkpoint; frozen channels do not change."""
    terms = config.loss.terms(config.updates)

    def forward(model: RecoveredQModel, batch: tuple[ReplayedCheckpoint, bool]) -> Any:
        replayed, frozen = batch
        return model.run(
            replayed.events,
            interface=replayed.interface,
            existence=replayed.existence,
            frozen_channels=frozen,
        )

    return Objective(
        forward=forward,
        terms={
            name: lambda done, batch, step, term=term: term(done, batch[0], step) for name, term in terms.items()
        },
    )


def _objective(config: RecoveredFit, source: ResidualModel, targets: Sequence[ReplayedCheckpoint]) -> GradientOf:
    """The loss of a replayed checkpoint, and what else the config asks for, measured on the last checkpoint."""
    last = targets[-config.parts :]
    objective: GradientOf = recovery_objective(config)
    if config.functional_channels:
        objective = FunctionalChannels(recovery_objective(config))
    if config.interventions:
        objective = IntervenedObjective(objective, config.interventions, source, last, config.updates, config.seed)
    if config.necessity:
        objective = NecessaryChannels(objective, config.necessity, last, config.updates)
    return objective


@dataclass(frozen=True)
class FunctionalChannels:
    """An objective in which only the terms for the source's function and for channels train the channels."""

    objective: Objective

    def __call__(self, model: RecoveredQModel, batch: Any, step: int) -> Mapping[str, Tensor]:
        model.zero_grad()
        output = self.objective.forward(model, batch)
        values = {name: term(output, batch, step) for name, term in self.objective.terms.items()}
        functional = torch.stack([value for name, value in values.items() if name in FUNCTIONAL])
        others = torch.stack([value for name, value in values.items() if name not in FUNCTIONAL])
        functional.sum().backward(retain_graph=True)
        logit = model.channels.logit
        kept = None if logit.grad is None else logit.grad.clone()
        others.sum().backward()
        logit.grad = kept
        return {name: value.detach() for name, value in values.items()}


FUNCTIONAL = ("reconstruction", "predictions", "channels", "channel_entropy")


@dataclass(frozen=True)
class ClippedObjective:
    """An objective whose gradient norm is clipped."""

    objective: GradientOf
    limit: float

    def __call__(self, model: nn.Module, batch: Any, step: int) -> Mapping[str, Tensor]:
        values = self.objective(model, batch, step)
        nn.utils.clip_grad_norm_(model.parameters(), self.limit)
        return values


def fit_config(source: Source, preset: FitPreset, changes: Mapping[str, Any]) -> RecoveredFit:
    """A preset for the factors of a source, which determine identity, rule and threshold."""
    _, facts = read_factors(source)
    known = {"source": source.identity, "rule": facts["rule"], "threshold": facts["threshold"]}
    given = next((key for key in changes if key.partition(".")[0] in (*known, "preset")), None)
    if given is not None:
        raise InvalidConfig(
            f"'{given}' is not for --set, it comes from the source and its factors; "
            f"choose --preset, or another --rule or --threshold of {source.command('discover')}"
        )
    return FIT_PRESETS[preset].replace({**known, **changes})


def fit_run(
    source: Source, config: RecoveredFit, progress: Progress | None = None, *, replace: bool = False
) -> RecoveredRun:
    """Fit a Q-model to the factors of a source and save it beside them; `replace` overwrites another one."""
    factors, _ = read_factors(source)
    folder = qmodel_folder(source, config.preset)
    return fit_recovered(config, source, factors, folder, progress, replace=replace)


def read_fit(source: Source, preset: FitPreset) -> RecoveredRun:
    """The Q-model of a preset that was fitted to a source."""
    _ = source.sequence_task  # raises first if the source cannot have a Q-model
    folder = qmodel_folder(source, preset)
    command = source.command("fit", *(() if preset == "faithful" else ("--preset", preset)))
    if not (folder / "config.json").is_file():
        raise DamagedArtefact(f"{source.folder} has no {preset} Q-model; make it with {command}")
    if not (folder / WEIGHTS).is_file():
        raise DamagedArtefact(f"the fit in {folder} is not finished; {command} resumes it")
    config = read_run(folder).parse(RecoveredFit, make=command)
    if config.source != source.identity:
        raise RunMismatch(f"the Q-model in {folder} belongs to another source; fit again with {command} --replace")
    return _read(config, folder, CheckpointReplay.of(source, read_factors(source)[0]))


def _read(config: RecoveredFit, folder: Path, replay: CheckpointReplay) -> RecoveredRun:
    """Load a saved Q-model onto the device of its source."""
    source = replay.source
    qmodel = QModel.load(folder, vocabulary=source.sequence_task.vocabulary, made_by=config.hash())
    qmodel.model.to(source.device)
    return RecoveredRun(config, folder, replay, qmodel)


def qmodel_folder(source: Source, preset: FitPreset) -> Path:
    """The folder of a preset's Q-model."""
    return source.folder / "qmodel" / preset
