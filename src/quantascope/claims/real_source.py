"""The full pipeline on a source that learned real data, shared by the claims about real data.

source   -> field     on a part of what it was trained on, and on held-out inputs; at several numbers of intervals
field    -> factors   beside surrogates, random packets and packets drawn within contexts
factors  -> Q-model   fidelity, descriptions of its units, interventions in it and in the source
sources  -> recurrence of each seed's factors in the source of the next seed

Every seed has one value of each figure, so a claim can be published a few seeds at a time. The source of the next
seed is trained as well, even if that seed is not asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from quantascope.claims.claim import Claim, no_summary
from quantascope.claims.real_figures import factor_numbers, field_numbers, order_numbers, rule_numbers
from quantascope.claims.real_study import Number, Study
from quantascope.claims.real_units import name_numbers, qmodel_numbers, recurrence_numbers
from quantascope.claims.result import Estimate
from quantascope.discovery.discover import Discovery
from quantascope.discovery.measure import measure_field
from quantascope.qmodel.recovered.fit import RecoveredRun, fit_recovered
from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.config import Config, Seeds
from quantascope.runs.errors import DamagedArtefact, message_of
from quantascope.runs.files import RUN_AGAIN
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.code import CodeConfig, check_code, train_code
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig, check_source, train_source

NUMBERS = "numbers.json"
Numbers = Mapping[str, Number]
AnySource = SourceConfig | CodeConfig
Quality = Callable[[Source], Numbers]
"""Measures how good a source is at its task."""
_QUICK_STUDY = {
    "study.fit.updates": 20,
    "study.spacings": [2, 4],
    "study.permutations": 2,
    "study.draws": 1,
    "study.shuffles": 5,
    "study.every": 20,
}


class RealClaim(Config):
    """A source on real data from several seeds, and the study of each."""

    source: AnySource
    seeds: Seeds
    study: Study


class RealRun(Config):
    """One source; without a study it is trained and measured alone."""

    KIND: ClassVar[str] = "real source"

    source: AnySource
    study: Study
    alone: bool = False


@dataclass(frozen=True, eq=False)
class StudiedSource:
    """A source, its quanta, and the measured numbers; no numbers if it only serves another's recurrence."""

    found: Discovery
    numbers: Numbers


def runs(config: RealClaim) -> dict[str, RealRun]:
    """A run for each seed, and for each next seed that is not among them."""
    wanted = dict.fromkeys(config.seeds, False) | {
        seed + 1: True for seed in config.seeds if seed + 1 not in config.seeds
    }
    return {
        f"seed-{seed}" + ("-alone" if alone else ""): RealRun(
            source=config.source.replace({"seed": seed}), study=config.study, alone=alone
        )
        for seed, alone in wanted.items()
    }


def studied_source(
    quality: Quality, config: RealRun, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> StudiedSource:
    """Train, measure, fit and explain a source, or read what was found; the source is kept beside `path`."""
    run = RunDirectory.open(path, config)
    beside = path.parent / f"source-{config.source.seed}-{config.source.hash()[:8]}"
    source = _trained(config.source, beside, progress, device)
    found = quanta_of(source, config.study)
    if config.alone:
        return StudiedSource(found, {})

    def make(run: RunDirectory) -> None:
        numbers = {**quality(source), **study_numbers(found, _fitted(found, config.study, path), config.study)}
        values = {key: one.to_json() for key, one in numbers.items()}
        write_record(path / NUMBERS, {"numbers": values}, made_by=run.hash)

    run.complete([NUMBERS], make)
    return StudiedSource(found, _read_numbers(path / NUMBERS, made_by=run.hash))


def _read_numbers(file: Path, *, made_by: str) -> Numbers:
    kept = read_record(file, made_by=made_by).get("numbers")
    try:
        return {key: Number.from_json(one) for key, one in dict(kept or {}).items()}
    except (LookupError, TypeError, ValueError) as error:
        reason = message_of(error)
        raise DamagedArtefact(f"{file} does not hold measured numbers ({reason}); {RUN_AGAIN}") from error


def study_numbers(found: Discovery, run: RecoveredRun, study: Study) -> dict[str, Number]:
    """Everything that is measured of one source."""
    return {
        **field_numbers(found, study),
        **factor_numbers(found, study),
        **order_numbers(found, study),
        **rule_numbers(found, study),
        **name_numbers(found, run, study),
        **qmodel_numbers(run, study),
    }


def _trained(config: AnySource, path: Path, progress: Progress | None, device: str) -> Source:
    train = train_code if isinstance(config, CodeConfig) else train_source
    return train(config, path, progress, device=device)  # pyright: ignore[reportArgumentType]


def _check(check: Callable[[], object], job: RealRun) -> None:
    if not job.alone:
        check()
    if isinstance(job.source, CodeConfig):
        check_code(job.source)
    else:
        check_source(job.source)


def quanta_of(source: Source, study: Study) -> Discovery:
    """The quanta of a source, along the path."""
    with source.locked():
        fields = [measure_field(source, "path", panel) for panel in ("training", study.held_out)]
    return Discovery(source, study.threshold, *fields)


def _fitted(found: Discovery, study: Study, path: Path) -> RecoveredRun:
    fit = study.fit.model_copy(update={"source": found.source.identity, "threshold": study.threshold})
    return fit_recovered(fit, found.source, found.factors, path / "qmodel")


def measure(config: RealClaim, evidence: Mapping[str, StudiedSource]) -> dict[str, Estimate]:
    """The numbers of every seed, and how its factors recur in the source of the next."""
    by_seed = {int(label.split("-")[1]): one for label, one in evidence.items()}
    each = [
        {
            **by_seed[seed].numbers,
            **recurrence_numbers(by_seed[seed].found, by_seed[seed + 1].found, config.study),
        }
        for seed in config.seeds
    ]
    return over_seeds(each)


def over_seeds(each: Sequence[Numbers]) -> dict[str, Estimate]:
    """One figure for each number, over seeds.

    >>> over_seeds([{"a": Number("what", 1.0)}, {"a": Number("what", 3.0)}])["a"].mean
    2.0
    """
    return {
        key: Estimate.over_runs(first.says, [one[key].value for one in each], first.unit)
        for key, first in each[0].items()
    }


def real_claim(
    *,
    name: str,
    says: str,
    full: RealClaim,
    quick: Mapping[str, Any],
    quality: Quality,
    check: Callable[[], object] = lambda: None,
) -> Claim:
    """A claim about a source on real data; `quick` changes the settings of its source for a first look.

    `check` raises, before anything is trained, if `quality` cannot be measured.
    """
    smaller = {**{f"source.{key}": value for key, value in quick.items()}, "seeds": [0], **_QUICK_STUDY}
    return Claim(
        name=name,
        says=says,
        presets={"quick": full.replace(smaller), "full": full, "paper": full},
        runs=runs,
        prepare=partial(_check, check),
        work=partial(studied_source, quality),
        steps=lambda job: job.source.steps,
        measure=measure,
        summary=no_summary,
        shares=name,
    )
