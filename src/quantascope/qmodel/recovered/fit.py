"""The recovered Q-model of a source: fitted by replaying the source's checkpoints.

    source   -> replays     what the source does at each checkpoint on the inputs, computed once
    replays  -> Q-model     one Adam update per drawn checkpoint
    Q-model  -> files       which run without the source

The faithful preset is the paper's: the training inputs alone, gates taught by the supports alone. The
distilled preset also fits inputs that need no labels, continued by the source itself, and lets predictions teach
the gates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from quantascope.discovery import Factors, Rule
from quantascope.discovery.discover import read_factors
from quantascope.models import decode
from quantascope.models.residual import Interface, ResidualModel
from quantascope.qmodel.recovered.loss import RecoveryLoss, ReplayedCheckpoint
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.qmodel.recovered.saved import WEIGHTS, QModel
from quantascope.runs.artefact import read_table
from quantascope.runs.config import Config, Count, NonNegativeFloat, Positive, PositiveFloat, Seed
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.memory import FLOAT, check_memory
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_run
from quantascope.sources.source import Source
from quantascope.tasks.events import Events
from quantascope.training import Objective, OptimizerConfig, ScheduleConfig, TrainingConfig, train
from quantascope.training.footprint import check_training, count_parameters

FitPreset = Literal["faithful", "distilled"]
_BYTES_OF_A_PROMPT = 300
"""Of a short list of tokens."""
SEMANTICS = "semantics.parquet"
"""Units in words, as quantascope explain leaves them beside a Q-model."""


class Pool(Config):
    """Inputs of the task's pool, outside every panel: so many in all, and so many at each checkpoint.

    Each is continued greedily by the finished source (`final`) or by the checkpoint itself (`own`), so that nobody
    needs to know the right answer.
    """

    numbers: Positive = 6000
    inputs: Count = 0
    continued_by: Literal["own", "final"] = "final"


class RecoveredFit(Config):
    """How a Q-model is fitted; the defaults are the faithful preset.

    An update sees one checkpoint and one of `parts` equal parts of its inputs; the paper's sees all of them. The
    checkpoint of place i is drawn with probability proportional to i^late.
    """

    KIND: ClassVar[str] = "recovered Q-model"

    preset: FitPreset = "faithful"
    source: str = ""
    """The identity of the source that is fitted."""
    rule: Rule = "path"
    threshold: PositiveFloat = 0.03
    model: RecoveredConfig = RecoveredConfig()
    loss: RecoveryLoss = RecoveryLoss()
    pool: Pool = Pool()
    parts: Positive = 1
    late: Annotated[float, Field(ge=0, le=20)] = 0.0
    updates: Positive = 5000
    learning_rate: PositiveFloat = 3e-3
    schedule: ScheduleConfig = ScheduleConfig()
    clip: PositiveFloat = 5.0
    frozen_share: NonNegativeFloat = 0.2
    seed: Seed = 0

    @property
    def training(self) -> TrainingConfig:
        """The same as a config of the training loop."""
        return TrainingConfig(
            steps=self.updates,
            optimizer=OptimizerConfig(name="adam", learning_rate=self.learning_rate),
            schedule=self.schedule,
            evaluate_every=self.updates,
        )


FIT_PRESETS: dict[FitPreset, RecoveredFit] = {
    "faithful": RecoveredFit(),
    "distilled": RecoveredFit(
        preset="distilled",
        model=RecoveredConfig(writers=5, value=20, gate_gradients=True),
        loss=RecoveryLoss(predictions=5.0, gates=2.0, writers=3.0, writer_target=7.5, channels=0.001),
        pool=Pool(inputs=1000),
        parts=20,
        late=1.0,
        updates=6000,
        learning_rate=1e-2,
        schedule=ScheduleConfig(decay="cosine"),
    ),
}


@dataclass(frozen=True, eq=False)
class CheckpointReplay:
    """A source and its factors, ready to be replayed."""

    source: Source
    factors: Factors

    @classmethod
    def of(cls, source: Source, factors: Factors) -> "CheckpointReplay":
        """Refused without factors, or without checkpoints to replay."""
        if not len(factors):
            raise InvalidConfig(
                f"the factorization of {source.folder} has no factors; lower the threshold of quantascope discover"
            )
        _ = source.sequence_task
        if not source.replay_steps:
            raise InvalidConfig(
                f"{source.folder} kept no checkpoints to replay; train it anew with --set replays=200"
            )
        events = source.events().count
        if factors.supports.shape[1] != events:
            raise DamagedArtefact(
                f"the factors cover {factors.supports.shape[1]} events and the source trains on {events}; "
                "run quantascope discover again"
            )
        return cls(source, factors)

    @property
    def steps(self) -> Sequence[int]:
        """The replayed steps."""
        return self.source.replay_steps

    @cached_property
    def supports(self) -> Tensor:
        """Labels of the gates on the training events."""
        return torch.from_numpy(self.factors.supports.copy()).to(self.source.device)

    def existence(self, step: int) -> Float[Tensor, " quanta"]:
        """How much of each curve's mass lies before a step."""
        curves = np.pad(self.factors.cumulative, ((0, 0), (1, 0)))
        share = [np.interp(step, self.source.steps, curve) for curve in curves]
        return torch.tensor(share, dtype=torch.float32).to(self.source.device)

    def check(self, config: RecoveredFit) -> None:
        """Refuse more parts than there are examples, and replays or a pool that do not fit into memory."""
        events, source, pool = self.source.events(), self.source.model(), config.pool
        if config.parts > len(events):
            raise InvalidConfig(f"{len(events)} examples do not make parts={config.parts}; ask for fewer parts")
        shape, optimizer = config.model, config.training.optimizer
        size = f"a Q-model of writers={shape.writers}, rank={shape.rank}, value={shape.value}"
        kept_of_a_quantum = 2 * (shape.writers + shape.rank) + shape.value
        activations = len(self.factors) * kept_of_a_quantum * len(events.rows) // config.parts
        interface = source.interface()
        parameters = count_parameters(lambda: self.build(config, source.depth, interface))
        check_training(parameters, optimizer, what=size, activations=activations)
        more = 1 + pool.inputs / len(events)
        kept = (
            source.depth * source.width * len(events.rows)
            + len(self.source.sequence_task.vocabulary) * events.count
        )
        what = f"{len(self.steps)} replays of {len(events)} examples and pool.inputs={pool.inputs}"
        check_memory(FLOAT * len(self.steps) * kept * more, what)
        if pool.inputs:
            check_memory(_BYTES_OF_A_PROMPT * pool.numbers, f"pool.numbers={pool.numbers}")

    def build(self, config: RecoveredFit, blocks: int, interface: Interface) -> RecoveredQModel:
        """The Q-model before training."""
        return RecoveredQModel(
            layers=tuple(self.factors.layer.tolist()),
            blocks=blocks,
            interface=interface,
            config=config.model,
            seed=config.seed,
        )

    def all(self, pool: Pool, parts: int, seed: int) -> list[ReplayedCheckpoint]:
        """Every replayed step on the training inputs and its own share of the pool, each in so many parts."""
        examples = _examples(self.source.events())
        labels = self.supports.split(torch.bincount(self.source.events().example).tolist(), 1)
        drawn = pool_prompts(self.source, pool, seed) if pool.inputs else []
        finally_said = self._continued(drawn, self.source.model()) if pool.continued_by == "final" else []
        asked = [examples[part::parts] for part in range(parts)]
        events = [Events.of(*zip(*own, strict=True)) for own in asked]
        replays = []
        for index, step in enumerate(self.steps):
            model = self.source.model(step)
            if pool.inputs:
                turn = [(index * pool.inputs + i) % len(drawn) for i in range(pool.inputs)]
                said = (
                    [finally_said[i] for i in turn]
                    if finally_said
                    else self._continued([drawn[i] for i in turn], model)
                )
                events = [Events.of(*zip(*own, *said[part::parts], strict=True)) for part, own in enumerate(asked)]
            replays += [
                ReplayedCheckpoint.of(
                    model, own, existence=self.existence(step), supports=torch.cat(labels[part::parts], 1)
                )
                for part, own in enumerate(events)
            ]
        return replays

    def _continued(
        self, prompts: Sequence[Sequence[int]], speaker: ResidualModel
    ) -> list[tuple[list[int], list[int]]]:
        """Prompts with the speaker's own answers, none longer than the longest answer that was trained on."""
        task = self.source.sequence_task
        end, longest = task.token[task.end], int(self.source.events().index.max()) + 1
        said = decode(speaker, prompts, end=end, limit=longest, padding=task.padding) if prompts else []
        return [
            # A speaker that says padding is made to stop.
            (list(prompt), [end if token == task.padding else token for token in output])
            for prompt, output in zip(prompts, said, strict=True)
        ]


def _examples(events: Events) -> list[tuple[list[int], list[int]]]:
    """The prompt and the output of every example."""
    first = events.position - events.index
    outputs = events.target.split(torch.bincount(events.example, minlength=len(events)).tolist())
    starts = first[torch.cat([events.example.new_zeros(1), events.example.diff().nonzero().flatten() + 1])]
    return [
        (row[: int(start) + 1].tolist(), output.tolist())
        for row, start, output in zip(events.tokens, starts, outputs, strict=True)
    ]


def pool_prompts(source: Source, pool: Pool, seed: int) -> list[list[int]]:
    """The prompts of the task's pool."""
    task = source.sequence_task
    if task.pool is None:
        raise InvalidConfig(
            f"the task of {source.folder} has no pool of further inputs; give it SequenceTask(…, pool=…), or fit "
            "with the faithful preset, which needs none"
        )
    return [task.prompt_tokens(one) for one in task.pool(pool.numbers, seed)]


@dataclass(frozen=True, eq=False)
class RecoveredRun:
    """A fitted Q-model beside its source and factors."""

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

    @property
    def descriptions(self) -> dict[str, str]:
        """What quanta and writers are called, by their names, if they were described."""
        file = self.path / SEMANTICS
        if not file.is_file():
            return {}
        table = read_table(file, made_by=self.config.hash(), columns=("unit", "description"))
        return dict(zip(table["unit"], table["description"], strict=True))


def fit_recovered(
    config: RecoveredFit, source: Source, factors: Factors, path: Path, progress: Progress | None = None
) -> RecoveredRun:
    """Fit, resume or read the Q-model of this config at `path`."""
    replay, vocabulary = CheckpointReplay.of(source, factors), source.sequence_task.vocabulary
    if not (path / WEIGHTS).exists():
        replay.check(config)

    def make(run: RunDirectory) -> None:
        QModel(_fit(config, replay, run, progress), vocabulary).save(path, made_by=run.hash)

    RunDirectory.open(path, config).complete([WEIGHTS], make)
    return _read(config, path, replay)


def _fit(
    config: RecoveredFit, replay: CheckpointReplay, run: RunDirectory, progress: Progress | None
) -> RecoveredQModel:
    source = replay.source.model()
    model = replay.build(config, source.depth, source.interface()).to(replay.source.device)
    if progress:
        progress(0, math.nan)  # it takes a while until all is replayed
    targets = replay.all(config.pool, config.parts, config.seed)
    chance = np.repeat(np.arange(1, len(replay.steps) + 1) ** config.late, config.parts)

    def batches(step: int) -> tuple[ReplayedCheckpoint, bool]:
        drawn = np.random.default_rng([config.seed, step]).choice(len(targets), p=chance / chance.sum())
        return targets[drawn], step >= (1 - config.frozen_share) * config.updates

    train(
        model,
        batches=batches,
        objective=ClippedObjective(recovery_objective(config), config.clip),
        config=config.training,
        seed=config.seed,
        run=run,
        progress=progress,
    )
    return model.eval()


def recovery_objective(config: RecoveredFit) -> Objective:
    """The loss of a replayed checkpoint; channels stay as they are once they are frozen."""
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


@dataclass(frozen=True)
class ClippedObjective:
    """An objective whose gradient is no longer than a limit."""

    objective: Objective
    limit: float

    def __call__(self, model: nn.Module, batch: Any, step: int) -> Mapping[str, Tensor]:
        values = self.objective(model, batch, step)
        nn.utils.clip_grad_norm_(model.parameters(), self.limit)
        return values


def fit_config(source: Source, preset: FitPreset, changes: Mapping[str, Any]) -> RecoveredFit:
    """A preset for the factors of a source, from which identity, rule and threshold come."""
    _, facts = read_factors(source)
    known = {"source": source.identity, "rule": facts["rule"], "threshold": facts["threshold"]}
    given = next((key for key in changes if key.partition(".")[0] in (*known, "preset")), None)
    if given is not None:
        raise InvalidConfig(
            f"'{given}' is not for --set, it comes from the source and its factors; "
            "choose --preset, or another --rule or --threshold of quantascope discover"
        )
    return FIT_PRESETS[preset].replace({**known, **changes})


def fit_run(source: Source, config: RecoveredFit, progress: Progress | None = None) -> RecoveredRun:
    """Fit the factors of a source; the Q-model is kept beside them."""
    factors, _ = read_factors(source)
    return fit_recovered(config, source, factors, qmodel_folder(source, config.preset), progress)


def read_fit(source: Source, preset: FitPreset) -> RecoveredRun:
    """The Q-model of a preset that was fitted to a source."""
    _ = source.sequence_task  # where there can be no Q-model, none is asked for
    folder = qmodel_folder(source, preset)
    command = f"quantascope fit --preset {preset}"
    if not (folder / "config.json").is_file():
        raise DamagedArtefact(f"{source.folder} has no {preset} Q-model; make it with {command}")
    if not (folder / WEIGHTS).is_file():
        raise DamagedArtefact(f"the fit in {folder} is not finished; {command} resumes it")
    config = read_run(folder).parse(RecoveredFit, make=command)
    if config.source != source.identity:
        raise RunMismatch(f"the Q-model in {folder} is that of another source; move it away, and {command}")
    return _read(config, folder, CheckpointReplay.of(source, read_factors(source)[0]))


def _read(config: RecoveredFit, folder: Path, replay: CheckpointReplay) -> RecoveredRun:
    """The run of a Q-model that is kept, which runs where its source does."""
    source = replay.source
    qmodel = QModel.load(folder, vocabulary=source.sequence_task.vocabulary, made_by=config.hash())
    qmodel.model.to(source.device)
    return RecoveredRun(config, folder, replay, qmodel)


def qmodel_folder(source: Source, preset: FitPreset) -> Path:
    """Where the Q-model of a preset is kept."""
    return source.folder / "qmodel" / preset
