"""The recovered Q-model of a source: fitted by replaying the source's checkpoints.

    source   -> replays     what the source does at each checkpoint on the inputs, computed once
    replays  -> Q-model     one Adam update per drawn checkpoint
    Q-model  -> files       which run without the source

The faithful recipe is the paper's: the 300 training inputs alone, gates taught by the supports alone. The
distilled recipe also fits inputs that need no labels, continued by the source itself, and lets predictions teach
the gates.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from quantascope.discovery import Factors, Rule
from quantascope.discovery.discover import FACTORS
from quantascope.models import Transformer, decode
from quantascope.qmodel.recovered.loss import RecoveryLoss, Replayed
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.qmodel.recovered.saved import ABOUT, WEIGHTS, QModel
from quantascope.runs.artefact import read_facts, read_json, read_table
from quantascope.runs.config import Config, Count, NonNegativeFloat, Positive, PositiveFloat
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.trained import NamingSource, Source
from quantascope.tasks.events import PAD, Events
from quantascope.tasks.number_naming import PANELS, VOCABULARY, answer, prompt
from quantascope.tasks.number_naming.splits import LENGTHS
from quantascope.training import Objective, OptimizerConfig, ScheduleConfig, TrainingConfig, train

Recipe = Literal["faithful", "distilled"]
END = VOCABULARY.index("EOS")
LONGEST_OUTPUT = 10
SEMANTICS = "semantics.parquet"
"""Units in words, as quantascope explain leaves them beside a Q-model."""


class Pool(Config):
    """Inputs beyond the training numbers, outside every panel: so many in all, and so many at each checkpoint.

    Each is continued greedily by the finished source (`final`) or by the checkpoint itself (`own`), so that nobody
    needs to know the right answer.
    """

    numbers: Positive = 6000
    inputs: Count = 0
    continued_by: Literal["own", "final"] = "final"


class RecoveredFit(Config):
    """How a Q-model is fitted; the defaults are the faithful recipe.

    An update sees one checkpoint and one of `parts` equal parts of its inputs; the paper's sees all of them. The
    checkpoint of place i is drawn with probability proportional to i^late.
    """

    recipe: Recipe = "faithful"
    source: NamingSource = NamingSource()
    rule: Rule = "path"
    threshold: PositiveFloat = 0.03
    model: RecoveredConfig = RecoveredConfig()
    loss: RecoveryLoss = RecoveryLoss()
    pool: Pool = Pool()
    parts: Positive = 1
    late: NonNegativeFloat = 0.0
    updates: Positive = 5000
    learning_rate: PositiveFloat = 3e-3
    schedule: ScheduleConfig = ScheduleConfig()
    clip: PositiveFloat = 5.0
    frozen_share: NonNegativeFloat = 0.2
    seed: Count = 0

    @property
    def training(self) -> TrainingConfig:
        """The same as a config of the training loop."""
        return TrainingConfig(
            steps=self.updates,
            optimizer=OptimizerConfig(name="adam", learning_rate=self.learning_rate),
            schedule=self.schedule,
            evaluate_every=self.updates,
        )


RECIPES: dict[Recipe, RecoveredFit] = {
    "faithful": RecoveredFit(),
    "distilled": RecoveredFit(
        recipe="distilled",
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
class Replays:
    """A source and its factors, ready to be replayed."""

    source: Source
    factors: Factors
    steps: Sequence[int]
    interval_steps: Sequence[int]

    @classmethod
    def of(cls, source: Source, factors: Factors) -> "Replays":
        """Refused without factors, or without checkpoints to replay."""
        if not len(factors):
            raise InvalidConfig(
                f"the factorization of {source.path} has no factors; "
                f"lower the threshold: quantascope discover {source.path} --threshold 0.01"
            )
        if not source.config.replays:
            raise InvalidConfig(
                f"{source.path} kept no checkpoints to replay; train it with --set replays=200 and discover again"
            )
        if factors.supports.shape[1] != source.events.count:
            raise DamagedArtefact(
                f"the factors cover {factors.supports.shape[1]} events and the source trains on "
                f"{source.events.count}; run quantascope discover again"
            )
        return cls(source, factors, source.config.replay_steps, source.config.interval_steps)

    @cached_property
    def supports(self) -> Tensor:
        """Labels of the gates on the training events."""
        return torch.from_numpy(self.factors.supports.copy())

    def existence(self, step: int) -> Float[Tensor, " quanta"]:
        """How much of each curve's mass lies before a step."""
        curves = np.pad(self.factors.cumulative, ((0, 0), (1, 0)))
        return torch.tensor([np.interp(step, self.interval_steps, curve) for curve in curves], dtype=torch.float32)

    def all(self, pool: Pool, parts: int, seed: int) -> list[Replayed]:
        """Every replayed step on the training inputs and its own share of the pool, each in so many parts."""
        trained = self.source.config.numbers()
        labels = self.supports.split(torch.bincount(self.source.events.example).tolist(), 1)
        drawn = pool_numbers(pool.numbers, seed=seed) if pool.inputs else ()
        finally_said = _continued(drawn, self.source.model()) if pool.continued_by == "final" else []
        asked = [[(prompt(number), answer(number)) for number in trained[part::parts]] for part in range(parts)]
        events = [Events.of(*zip(*own, strict=True)) for own in asked]
        replays = []
        for index, step in enumerate(self.steps):
            model = self.source.model(step)
            if pool.inputs:
                turn = [(index * pool.inputs + i) % len(drawn) for i in range(pool.inputs)]
                said = (
                    [finally_said[i] for i in turn]
                    if finally_said
                    else _continued([drawn[i] for i in turn], model)
                )
                events = [Events.of(*zip(*own, *said[part::parts], strict=True)) for part, own in enumerate(asked)]
            replays += [
                Replayed.of(model, own, existence=self.existence(step), supports=torch.cat(labels[part::parts], 1))
                for part, own in enumerate(events)
            ]
        return replays


def _continued(numbers: Sequence[int], speaker: Transformer) -> list[tuple[list[int], list[int]]]:
    """Prompts with the speaker's own answers."""
    asked = [prompt(number) for number in numbers]
    said = decode(speaker, asked, end=END, limit=LONGEST_OUTPUT, padding=PAD) if asked else []
    # Padding cannot stand inside an example; a speaker that says it is made to stop.
    return [(question, [token or END for token in output]) for question, output in zip(asked, said, strict=True)]


@cache
def pool_numbers(count: int, *, seed: int) -> tuple[int, ...]:
    """Numbers outside every panel, by lengths in turn; short lengths, whose numbers are few, come again.

    Every number below a thousand is in a panel, so all have four digits or more.
    """
    taken = set().union(*(numbers() for numbers in PANELS.values()))
    draw = random.Random(4_000_003 + seed)
    lengths = [length for length in LENGTHS if length >= 4]
    each = -(-count // len(lengths))
    drawn = []
    for length in lengths:
        free = [number for number in range(10 ** (length - 1), 10**length) if number not in taken]
        drawn.append(
            [number for _ in range(-(-each // len(free))) for number in draw.sample(free, len(free))][:each]
        )
    return tuple(number for turn in zip(*drawn, strict=True) for number in turn)[:count]


@dataclass(frozen=True, eq=False)
class RecoveredRun:
    """A fitted Q-model beside its source and factors."""

    config: RecoveredFit
    path: Path
    replays: Replays
    qmodel: QModel

    @property
    def source(self) -> Source:
        """The source of the Q-model."""
        return self.replays.source

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
        table = read_table(file, made_by=self.config.hash())
        return dict(zip(table["unit"], table["description"], strict=True))


def fit_recovered(
    config: RecoveredFit, source: Source, factors: Factors, path: Path, progress: Progress | None = None
) -> RecoveredRun:
    """Fit, or take up, or just read the Q-model of this config at `path`."""
    replays = Replays.of(source, factors)
    run = RunDirectory.open(path, config)
    with run.locked():
        if not all((path / file).exists() for file in (WEIGHTS, ABOUT)):
            model = _fit(config, replays, run, progress)
            QModel(model, VOCABULARY).save(path, made_by=run.hash)
    return RecoveredRun(config, path, replays, QModel.load(path, vocabulary=VOCABULARY))


def _fit(config: RecoveredFit, replays: Replays, run: RunDirectory, progress: Progress | None) -> RecoveredQModel:
    model = RecoveredQModel(
        layers=tuple(replays.factors.layer.tolist()),
        blocks=replays.source.config.model.blocks,
        interface=replays.source.model().interface(),
        config=config.model,
        seed=config.seed,
    )
    if progress:
        progress(0, math.nan)  # it takes a while until all is replayed
    targets = replays.all(config.pool, config.parts, config.seed)
    chance = np.repeat(np.arange(1, len(replays.steps) + 1) ** config.late, config.parts)

    def batches(step: int) -> tuple[Replayed, bool]:
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

    def forward(model: RecoveredQModel, batch: tuple[Replayed, bool]) -> Any:
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


def read_factors(source: Source) -> tuple[Factors, dict[str, Any]]:
    """The factors that `discover` left in the run, and how they were found."""
    file = source.path / FACTORS
    if not file.exists():
        raise DamagedArtefact(f"{source.path} has no factors; find them with quantascope discover {source.path}")
    return Factors.load(file, made_by=source.config.hash()), read_facts(file)


def fit_config(source: Source, recipe: Recipe, changes: Mapping[str, Any]) -> RecoveredFit:
    """A recipe for the factors in a run, from which source, rule and threshold come."""
    _, facts = read_factors(source)
    known = {
        "source": source.config.model_dump(mode="json"),
        "rule": facts["rule"],
        "threshold": facts["threshold"],
    }
    given = next((key for key in changes if key.partition(".")[0] in (*known, "recipe")), None)
    if given is not None:
        raise InvalidConfig(
            f"'{given}' is not for --set, it comes from the run and its factors; "
            "choose --recipe, or another --rule or --threshold of quantascope discover"
        )
    return RECIPES[recipe].replace({**known, **changes})


def fit_run(source: Source, config: RecoveredFit, progress: Progress | None = None) -> RecoveredRun:
    """Fit the factors in a run; the Q-model is kept in the run."""
    factors, _ = read_factors(source)
    return fit_recovered(config, source, factors, qmodel_folder(source.path, config.recipe), progress)


def read_fit(source: Source, recipe: Recipe) -> RecoveredRun:
    """The Q-model of a recipe in a run."""
    folder = qmodel_folder(source.path, recipe)
    command = f"quantascope fit {source.path} --recipe {recipe}"
    if not (folder / "config.json").is_file():
        raise DamagedArtefact(f"{source.path} has no {recipe} Q-model; make it with {command}")
    if not (folder / ABOUT).is_file():
        raise DamagedArtefact(f"the fit in {folder} has not come to its end; {command} takes it up")
    found: Any = read_json(folder / "config.json")
    if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
        raise DamagedArtefact(f"{folder} does not hold the config of a fit; remove it, and {command}")
    config = RecoveredFit.parse(found["config"])
    RunDirectory.open(folder, config)
    if config.source != source.config:
        raise RunMismatch(f"the Q-model in {folder} is that of another source; remove it, and {command}")
    return RecoveredRun(
        config, folder, Replays.of(source, read_factors(source)[0]), QModel.load(folder, vocabulary=VOCABULARY)
    )


def qmodel_folder(run: Path, recipe: Recipe) -> Path:
    """Where the Q-model of a recipe is kept in a run."""
    return run / "qmodel" / recipe
