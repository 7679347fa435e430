"""The Q-models that the claims about recovery share: both presets on sources of several seeds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from quantascope.claims.claim import Claim
from quantascope.claims.recover_quanta import PAPER_SOURCE, QUICK, SOURCES
from quantascope.claims.result import Estimate
from quantascope.discovery import Factors, PriorityField, factorize
from quantascope.discovery.closure import MOST_MISSING, closed
from quantascope.discovery.measure import measure_field
from quantascope.qmodel.recovered.config import FIT_PRESETS, FitPreset, Pool, RecoveredFit
from quantascope.qmodel.recovered.fit import RecoveredRun, fit_recovered
from quantascope.runs.config import Config, FurtherSeeds, Seeds
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.trained import SourceConfig, check_source, train_source

Compared = Literal["sources", "fits"]


class RecoveredModels(Config):
    """Sources by seed; the first is fitted with every fit seed of a preset, the others with the first of them.

    Without fit seeds there is no distilled model. Figures go over sources, or over the fits to one of them.
    """

    LATER: ClassVar[tuple[str, ...]] = ("compared",)

    source: SourceConfig = SourceConfig()
    seeds: Seeds = (0, 1, 2)
    fit_seeds: Seeds = (0, 1, 2)
    distilled_fit_seeds: FurtherSeeds = (0, 1, 2)
    faithful: RecoveredFit = FIT_PRESETS["faithful"]
    distilled: RecoveredFit = FIT_PRESETS["distilled"]
    compared: Compared = "sources"


class QModelFits(Config):
    """One source and the fits to it, and whether figures go over sources or over fits to one of them."""

    LATER: ClassVar[tuple[str, ...]] = ("compared",)

    source: SourceConfig
    fits: tuple[RecoveredFit, ...]
    compared: Compared = "sources"


@dataclass(frozen=True, eq=False)
class FittedSource:
    """The Q-models of one source."""

    config: QModelFits
    runs: tuple[RecoveredRun, ...]

    def of(self, preset: FitPreset) -> list[RecoveredRun]:
        """The Q-models of a preset, by fit seed."""
        return [run for run in self.runs if run.config.preset == preset]


def runs(config: RecoveredModels) -> dict[str, QModelFits]:
    """What is fitted to each source."""
    jobs = {}
    for place, seed in enumerate(config.seeds):
        source = config.source.model_copy(update={"seed": seed})
        presets = ((config.faithful, config.fit_seeds), (config.distilled, config.distilled_fit_seeds))
        fits = tuple(
            preset.model_copy(update={"source": source.hash(), "seed": fit_seed})
            for preset, fit_seeds in presets
            for fit_seed in (fit_seeds if place == 0 else fit_seeds[:1])
        )
        jobs[f"qmodels-{seed}"] = QModelFits(source=source, fits=fits, compared=config.compared)
    return jobs


def check_fits(config: QModelFits) -> None:
    """Refuse a source that cannot be trained, and fits whose settings exclude each other."""
    check_source(config.source)
    for fit in config.fits:
        _ = fit.training


def fitted_source(
    config: QModelFits, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> FittedSource:
    """Fit, or read, the Q-models of a source.

    The source and each Q-model are runs of their own beside `path`, so that other claims and other sets of fits
    find them.
    """
    RunDirectory.open(path, config)
    beside = path.parent / f"seed-{config.source.seed}-{config.source.hash()[:8]}"
    source = train_source(config.source, beside, device=device)
    done = []
    for place, fit in enumerate(config.fits):
        with source.locked():
            field = measure_field(source, fit.rule)
        factors = fitted_factors(fit, field)
        name = f"{fit.preset}-{config.source.seed}-{fit.seed}-{fit.hash()[:8]}"
        before = sum(earlier.updates for earlier in config.fits[:place])
        done.append(fit_recovered(fit, source, factors, path.parent / name, _later(progress, before)))
    return FittedSource(config, tuple(done))


def fitted_factors(fit: RecoveredFit, field: PriorityField) -> Factors:
    """The factors that a Q-model is fitted to."""
    found = factorize(field.values, threshold=fit.threshold, starts=fit.starts)
    return found if fit.closure is None else closed(found, fit.closure)


def _later(progress: Progress | None, before: int) -> Progress | None:
    if progress is None:
        return None

    def told(step: int, loss: float, acquired: int | None = None) -> None:
        progress(before + step, loss, acquired)

    return told


def total_updates(config: QModelFits) -> int:
    """Updates of all fits to a source."""
    return sum(fit.updates for fit in config.fits)


def recovered_claim(
    *,
    name: str,
    says: str,
    presets: Mapping[str, Any],
    measure: Callable[[Any, Mapping[str, FittedSource]], Mapping[str, Estimate]],
    jobs: Callable[[Any], Mapping[str, QModelFits]] = lambda config: runs(config.models),
    **others: Any,
) -> Claim:
    """A claim about the Q-models of sources; by default those of the config's `models`."""
    return Claim(
        name=name,
        says=says,
        presets=presets,
        runs=jobs,
        prepare=check_fits,
        work=fitted_source,
        steps=total_updates,
        measure=measure,
        shares=SOURCES,
        **others,
    )


def over_sources(
    evidence: Mapping[str, FittedSource],
    preset: FitPreset,
    says: str,
    value: Callable[[RecoveredRun], float],
    unit: str = "",
) -> Estimate:
    """A figure over what is compared: sources, each with the first fit seed, or the fits to one source."""
    name = says if preset == "faithful" else f"{says}, distilled"
    return Estimate.over_runs(name, [value(run) for run in compared_fits(evidence, preset)], unit)


def compared_fits(evidence: Mapping[str, FittedSource], preset: FitPreset) -> list[RecoveredRun]:
    """The first fit to each source, or all to the first one."""
    first = next(iter(evidence.values()))
    if first.config.compared == "fits":
        return first.of(preset)
    return [fitted.of(preset)[0] for fitted in evidence.values()]


def presets_of(evidence: Mapping[str, FittedSource]) -> list[tuple[FitPreset, str]]:
    """The presets that were fitted, and what the keys of their figures begin with."""
    first = next(iter(evidence.values()))
    return [(preset, prefix) for preset, prefix in PREFIXES.items() if first.of(preset)]


PREFIXES: dict[FitPreset, str] = {"faithful": "", "distilled": "distilled_"}


def over_fits(
    evidence: Mapping[str, FittedSource],
    preset: FitPreset,
    says: str,
    value: Callable[[RecoveredRun], float],
    unit: str = "",
) -> Estimate:
    """A figure over the fits to the first source, which differ only in their seed; undefined for a single fit."""
    fits = next(iter(evidence.values())).of(preset)
    name = f"{says}, fit seeds of one source" + ("" if preset == "faithful" else ", distilled")
    return Estimate.over_runs(name, [value(run) for run in fits] if len(fits) > 1 else [], unit)


SHORT = {"updates": 60, "parts": 6}
QUICK_MODELS = RecoveredModels(
    source=QUICK,
    seeds=(0,),
    fit_seeds=(0,),
    distilled_fit_seeds=(0,),
    faithful=FIT_PRESETS["faithful"].model_copy(update=SHORT),
    distilled=FIT_PRESETS["distilled"].model_copy(update={**SHORT, "pool": Pool(numbers=60, inputs=30)}),
)
EIGHT_SOURCES = RecoveredModels(seeds=(0, 1, 2, 3, 4, 5, 6, 7))
FULL_MODELS = RecoveredModels()
"""Both presets as they are; the faithful one takes the paper's 5,000 updates on all inputs."""
PAPER_FIT = FIT_PRESETS["faithful"].replace(
    {
        "rule": "gradient",
        "starts": "paper",
        "closure": MOST_MISSING,
        "functional_channels": True,
        "model.initialization": "paper",
        "model.channel_start": 1e-6,
        "loss.gates_by": "inactive",
    }
)
"""What the released code does: channels start open, though barely."""
PAPER_MODELS = RecoveredModels(
    source=PAPER_SOURCE,
    seeds=(0,),
    fit_seeds=(0, 1, 2),
    distilled_fit_seeds=(),
    faithful=PAPER_FIT,
    compared="fits",
)
"""Fits to the source of the paper's displayed run; which of all fits is displayed depends on a GPU's rounding."""
