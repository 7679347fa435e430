"""Quanta and writers have descriptions that hold on other inputs (section 5.2; appendix G.2).

For every Q-model of the recovered-qmodel claim, and for the supports of the factors that it was fitted to, the
best description of each unit is chosen on the calibration panel, frozen, and scored on the test panel. F1 stands
beside that of a description that always holds and that of the same search on shuffled labels: of the units that
pass the paper's mark of 0.7, how many say more than these?
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsFloat

import numpy as np
import polars as pl

from quantascope.claims.claim import Claim, no_summary
from quantascope.claims.recover_quanta import SOURCES
from quantascope.claims.recovered_models import (
    EIGHT_SOURCES,
    PAPER_MODELS,
    QUICK_MODELS,
    FittedSource,
    QModelFits,
    RecoveredModels,
    check_fits,
    fitted_source,
    presets_of,
    runs,
    total_updates,
)
from quantascope.claims.result import Estimate
from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.config import Config, Positive
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.semantics.explain import Subject, explain
from quantascope.semantics.subjects import QUANTUM, WRITER, factor_subject, qmodel_subject

MARK = 0.7
"""The F1 from which the paper counts a unit as described."""
FACTORS = "factors"
PRESENT, PASSED = "zero at", "passes over a zero at"


NAMED_MODELS = EIGHT_SOURCES.model_copy(update={"distilled_fit_seeds": EIGHT_SOURCES.distilled_fit_seeds[:1]})
"""Those of the recovered-qmodel claim; fit seeds are compared for the paper's preset alone."""


class Semantics(Config):
    """The Q-models whose units are named, and the panels."""

    models: RecoveredModels = NAMED_MODELS
    calibration: str = "calibration"
    test: str = "test"
    permutations: Positive = 20


class ExplainedFits(Config):
    """The fits to one source, and how they are explained."""

    fits: QModelFits
    calibration: str
    test: str
    permutations: Positive


@dataclass(frozen=True, eq=False)
class Explained:
    """Units in words, and the audit of zeros, as tables."""

    names: pl.DataFrame
    zeros: pl.DataFrame

    def kind(self, kind: str) -> pl.DataFrame:
        """The units of a kind that are not constant."""
        return self.names.filter((pl.col("kind") == kind) & pl.col("f1").is_not_null())

    def silent(self, kind: str) -> int:
        """How many units of a kind are constant."""
        return self.names.filter((pl.col("kind") == kind) & pl.col("f1").is_null()).height

    def zeros_of(self, kind: str, which: str) -> pl.DataFrame:
        """How well a single unit of a kind tells zeros, one row for each place."""
        return self.zeros.filter((pl.col("kind") == kind) & pl.col("says").str.starts_with(which))


@dataclass(frozen=True, eq=False)
class ExplainedSource:
    """One source: its factors and its Q-models, each by preset and in the order of their seeds."""

    factors: Explained
    models: Mapping[str, list[Explained]]


def explained_source(
    config: ExplainedFits, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> ExplainedSource:
    """Fit, or read, the Q-models of a source, and name their units once; the tables are kept."""
    run = RunDirectory.open(path, config)
    fitted = explained_fits(config, path, progress, device=device)
    first = fitted.runs[0]

    def explained(name: str, subject: Subject) -> Explained:
        files = [path / f"{name}-{table}.parquet" for table in ("names", "zeros")]
        if not all(file.exists() for file in files):
            found = explain(
                subject, calibration=config.calibration, test=config.test, permutations=config.permutations
            )
            for file, table in zip(files, (found.table(), found.detector_table()), strict=True):
                write_table(file, table, made_by=run.hash)
        return Explained(*(read_table(file, made_by=run.hash) for file in files))

    with run.locked():
        return ExplainedSource(
            explained(FACTORS, factor_subject(first.source, first.replay.factors, first.config.rule)),
            {
                preset: [
                    explained(f"{preset}-{one.config.seed}", qmodel_subject(one)) for one in fitted.of(preset)
                ]
                for preset, _ in presets_of({"": fitted})
            },
        )


def explained_fits(
    config: ExplainedFits, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> FittedSource:
    """The Q-models that are explained in a folder; they are kept beside it."""
    beside = path.parent / f"qmodels-{config.fits.source.seed}-{config.fits.hash()[:8]}"
    return fitted_source(config.fits, beside, progress, device=device)


def measure(config: Semantics, evidence: Mapping[str, ExplainedSource]) -> dict[str, Estimate]:
    """The paper's figures for the faithful preset, what they are worth, and the same for the rest."""
    sources = list(evidence.values())
    figures: dict[str, Estimate] = {}
    for preset in sources[0].models:
        prefix, by = ("", "") if preset == "faithful" else (f"{preset}_", f", {preset}")
        over_fits = config.models.compared == "fits"
        first = sources[0].models[preset] if over_fits else [source.models[preset][0] for source in sources]
        figures |= _figures(first, (QUANTUM, WRITER), prefix, by)
    for kind in (QUANTUM, WRITER):
        says = f"median F1 of the {_PLURAL[kind]}, fit seeds of one source"
        fits = sources[0].models["faithful"]
        values = [_median(one.kind(kind)["f1"]) for one in fits] if len(fits) > 1 else []
        figures[f"median_f1_{_PLURAL[kind]}_fit_seeds"] = Estimate.over_runs(says, values)
    return figures | _figures([source.factors for source in sources], (QUANTUM,), f"{FACTORS}_", ", factors")


def _figures(found: list[Explained], kinds: tuple[str, ...], prefix: str, by: str) -> dict[str, Estimate]:
    figures: dict[str, Estimate] = {}

    def add(key: str, says: str, value: Callable[[Explained], SupportsFloat], unit: str = "") -> None:
        figures[prefix + key] = Estimate.over_runs(says + by, [value(one) for one in found], unit)

    for kind in kinds:
        units = _PLURAL[kind]
        for key, says, value in _OF_UNITS:
            unit = "" if key.startswith("median") else "%" if key.startswith("share") else units
            add(key.format(units), says.format(units), lambda one, k=kind, v=value: v(one.kind(k)), unit)
        add(
            f"{units}_constant",
            f"{units} that are always or never active",
            lambda one, k=kind: one.silent(k),
            units,
        )
    for which, key, says in ((PRESENT, "zero", "zeros of the number"), (PASSED, "passed_zero", "zeros passed")):
        for column, suffix, told in (("f1", "f1", "best single writer"), ("constant", "always", "always active")):
            for end, name in ((np.min, "lowest"), (np.max, "highest")) if WRITER in kinds else ():
                add(
                    f"{key}_writer_{suffix}_{name}",
                    f"F1 for {says}, {told}, {name} over places",
                    lambda one, w=which, c=column, e=end: e(one.zeros_of(WRITER, w)[c].to_numpy()),
                )
    return figures


def _median(values: pl.Series) -> float:
    return float(np.median(values.to_numpy())) if len(values) else float("nan")


def _count(which: pl.Series) -> int:
    return int(which.to_numpy().sum())


def _share(which: pl.Series) -> float:
    return 100 * _count(which) / len(which) if len(which) else float("nan")


_PLURAL = {QUANTUM: "quanta", WRITER: "writers"}
_OF_UNITS: tuple[tuple[str, str, Callable[[pl.DataFrame], SupportsFloat]], ...] = (
    ("median_f1_{}", "median held-out F1 of the {}", lambda table: _median(table["f1"])),
    ("{}_above_0_7", "{} with held-out F1 at least 0.7", lambda table: _count(table["f1"] >= MARK)),
    (
        "{}_above_0_7_telling",
        "those {} whose description beats always true and shuffled labels",
        lambda table: _count((table["f1"] >= MARK) & table["tells"]),
    ),
    (
        "{}_above_0_7_always",
        "{} with F1 at least 0.7 for a description that always holds",
        lambda table: _count(table["constant"] >= MARK),
    ),
    ("share_above_0_7_{}", "share of {} with F1 at least 0.7", lambda table: _share(table["f1"] >= MARK)),
    (
        "share_telling_{}",
        "share of {} whose description beats always true and shuffled labels",
        lambda table: _share(table["tells"]),
    ),
    ("median_always_{}", "median F1 of always true, {}", lambda table: _median(table["constant"])),
    ("median_shuffled_{}", "median F1 for shuffled labels, {}", lambda table: _median(table["permuted"])),
    ("median_gain_{}", "median F1 above always true, {}", lambda table: _median(table["gain"])),
)


def _jobs(config: Semantics) -> dict[str, ExplainedFits]:
    return {
        f"semantics-{fits.source.seed}": ExplainedFits(
            fits=fits, calibration=config.calibration, test=config.test, permutations=config.permutations
        )
        for fits in runs(config.models).values()
    }


CLAIM = Claim(
    name="semantics",
    says="quanta and writers have descriptions that hold on other inputs",
    presets={
        "quick": Semantics(models=QUICK_MODELS, calibration="development", test="causal", permutations=5),
        "full": Semantics(),
        "paper": Semantics(models=PAPER_MODELS),
    },
    runs=_jobs,
    prepare=lambda job: check_fits(job.fits),
    work=explained_source,
    steps=lambda job: total_updates(job.fits),
    measure=measure,
    summary=no_summary,
    keeps_figure=True,
    shares=SOURCES,
)
