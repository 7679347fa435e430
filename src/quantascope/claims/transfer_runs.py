"""The retrainings of the support-transfer claim: a source with everything that is tried on it.

SourceTrials   a Transformer on a sequence task; every method proposes sets
ParityTrials   rows of a forest whose units are known; units, what tasks share, and random sets are tried
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int

from quantascope.claims.claim import Cost
from quantascope.discovery.measure import measure_field
from quantascope.discovery.transfer.matching import WORD_LEVEL, event_contexts
from quantascope.discovery.transfer.proposals import OF_FACTORS, Proposer, drawn_sets
from quantascope.discovery.transfer.response import Subject
from quantascope.discovery.transfer.transfer import Transfer, Trial, plan, run_trials
from quantascope.programs import NUMBER_NAMING, is_built_in
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.config import Config, Positive, PositiveFloat
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.parity_rows import ParityRows, ParityRowsConfig, parity_rows
from quantascope.sources.retraining import EventCurves, retrainable_source
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig, check_source, train_source

OTHER_CHANGES = ("lowered", "outside")
SECONDS_A_STEP = {"transformer": 0.022, "mlp": 0.0025}
"""On one thread of the machine that the full preset was planned on."""


class SourceTrials(Config):
    """A source, the methods that propose sets on it, and how many sets of each are tried."""

    KIND: ClassVar[str] = "support transfer"

    source: SourceConfig
    methods: tuple[str, ...]
    sets: Positive
    splits: Positive
    """How often the paper's factors are cut in halves; other sets are cut once."""
    threshold: PositiveFloat

    @property
    def trainings(self) -> int:
        """Largest possible number of trainings: the source, the even weights, and every trial."""
        factors = self.sets * (self.splits + len(OTHER_CHANGES)) if "factors" in self.methods else 0
        return 2 + self.sets * len(set(self.methods) - {"factors"}) + factors


class ParityTrials(Config):
    """Rows of a forest, and how many sets of each kind are tried."""

    KIND: ClassVar[str] = "support transfer, known units"

    source: ParityRowsConfig
    sets: Positive

    @property
    def trainings(self) -> int:
        """Largest possible number of trainings."""
        return 1 + 3 * self.sets


@dataclass(frozen=True, eq=False)
class Tried:
    """The outcome of the trials of one source; `rows` are given if its units are known."""

    transfer: Transfer
    rows: ParityRows | None = None

    @property
    def methods(self) -> list[str]:
        """The methods whose sets were tried."""
        return list(dict.fromkeys(trial.method for trial in self.transfer.trials))

    @property
    def child_to_parent(self) -> float:
        """The effect of teaching half of a leaf's events on its parent's task, beyond others of that depth."""
        rows, transfer = self.rows, self.transfer
        if rows is None:
            return np.nan
        found = []
        for trial, curves in zip(transfer.trials, transfer.curves, strict=True):
            if trial.method != "units":
                continue
            parent = rows.forest.parent[rows.forest.tasks[rows.task[trial.cut.taught][0]]]
            depth = rows.forest.depth[rows.forest.tasks[rows.task]]
            own = rows.forest.tasks[rows.task] == parent
            other = (depth == depth[own][0]) & ~own if own.any() else own
            if other.any():
                effect = transfer.subject.effects(curves)
                found.append(effect[own].mean() - effect[other].mean())
        return float(np.mean(found)) if found else np.nan


def check_trials(job: SourceTrials | ParityTrials) -> None:
    """Refuse what cannot be trained."""
    if isinstance(job, SourceTrials):
        check_source(job.source)
        retrainable_source(job.source)


def steps_of(job: SourceTrials | ParityTrials) -> int:
    """Updates of all trainings of a job."""
    steps = job.source.steps if isinstance(job, SourceTrials) else job.source.training.steps
    return (job.trainings - isinstance(job, SourceTrials)) * steps


def cost_of(jobs: Iterable[SourceTrials | ParityTrials], workers: int, device: str) -> Cost:
    """Time and memory of all jobs."""
    kinds = [(job, "transformer" if isinstance(job, SourceTrials) else "mlp") for job in jobs]
    seconds = [steps_of(job) * SECONDS_A_STEP[kind] for job, kind in kinds]
    return Cost(max([sum(seconds) / workers, *seconds]), workers * 10**9)


def tried(
    job: SourceTrials | ParityTrials, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> Tried:
    """Train what a job asks for, or read it; the source and every retraining are runs of their own in `path`."""
    RunDirectory.open(path, job)
    return try_source(job, path, progress) if isinstance(job, SourceTrials) else try_rows(job, path, progress)


def try_source(job: SourceTrials, path: Path, progress: Progress | None = None) -> Tried:
    """The trials of every method on a Transformer."""
    source = train_source(job.source, path / "source")
    events = source.events()
    contexts, group = event_contexts(events), events.example.numpy()
    trials = source_trials(job, source)

    def subject(base: EventCurves) -> Subject:
        return Subject(base, contexts, WORD_LEVEL, group)

    retrainable = retrainable_source(job.source)
    return Tried(
        run_trials(
            retrainable,
            trials,
            path / "retrained",
            subject_of=subject,
            progress=progress,
        )
    )


def source_trials(job: SourceTrials, source: Source) -> list[Trial]:
    """At most `sets` random sets of each method; the paper's factors are cut more often, and lowered too.

    The nulls are those of the factors that are tried.
    """
    events = source.events()
    group = events.example.numpy()
    with source.locked():
        field = measure_field(source, "path")
    known = {"program": program_sets(job.source)} if "program" in job.methods else {}
    seen = Proposer(source, field, events.target.numpy(), job.threshold, job.source.seed, known)
    found: list[Trial] = []
    for place, method in enumerate(job.methods):
        draw = 0 if method in OF_FACTORS else place + 1
        sets = drawn_sets(seen.propose(method), job.sets, np.random.default_rng([job.source.seed, draw]))
        splits = job.splits if method == "factors" else 1
        found += plan(method, sets, group, splits=splits, seed=job.source.seed)
        if method == "factors":
            found += plan(method, sets, group, changes=OTHER_CHANGES, seed=job.source.seed)
    return found


def program_sets(config: SourceConfig) -> Bool[np.ndarray, "quanta events"]:
    """The training events at which each quantum of the task's own program runs.

    A program knows nothing of the inputs that it answers otherwise than the task.
    """
    program = "english" if config.task == NUMBER_NAMING else config.task
    if not is_built_in(program):
        return np.zeros((0, 0), dtype=bool)
    known = program_task(program)
    written, events = known.supervision(config.trained_on), known.events(config.trained_on)
    right = torch.tensor(known.right(config.trained_on))
    active = torch.zeros(len(written.active), events.count, dtype=torch.bool)
    active[:, right[events.example]] = written.active[:, right[written.events.example]]
    return active.numpy()


def try_rows(job: ParityTrials, path: Path, progress: Progress | None = None) -> Tried:
    """The trials of known units: half of a leaf's events, half of the tasks that share a unit, random events."""
    rows = parity_rows(job.source)
    seed, each = job.source.seed, np.arange(len(rows.task))
    rng = np.random.default_rng(seed)
    leaves, shared = unit_kinds(rows)
    units = drawn_sets(leaves, job.sets, rng)
    trials = [
        *plan("units", units, each, seed=seed),
        *plan("shared", drawn_sets(shared, job.sets, rng), rows.task, seed=seed),
        *plan("random", [random_like(own, rows.label, rng) for own in units], each, seed=seed),
    ]
    contexts = np.stack([rows.label, np.zeros_like(rows.label)])

    def subject(base: EventCurves) -> Subject:
        return Subject(base, contexts, 0, each)

    found = run_trials(
        rows.retrainable,
        trials,
        path / "retrained",
        subject_of=subject,
        progress=progress,
    )
    return Tried(found, rows)


def unit_kinds(
    rows: ParityRows,
) -> tuple[Bool[np.ndarray, "leaves events"], Bool[np.ndarray, "shared events"]]:
    """The events of each unit that one task needs, and of each that several do."""
    tasks = rows.forest.requires.sum(0)
    return rows.units[tasks == 1], rows.units[tasks > 1]


def random_like(
    members: Bool[np.ndarray, " events"], label: Int[np.ndarray, " events"], rng: np.random.Generator
) -> Bool[np.ndarray, " events"]:
    """Random events, as many of each label as a set has."""
    drawn = np.zeros_like(members)
    for own in np.unique(label):
        places = np.flatnonzero(label == own)
        drawn[rng.choice(places, int(members[places].sum()), replace=False)] = True
    return drawn
