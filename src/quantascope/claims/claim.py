"""Defines a claim of the paper and reproduces it.

config  -> runs             the preset determines which networks to train
runs    -> run directories  on an engine; those that are there are reused
curves  -> figures          with intervals over runs
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from quantascope.claims.result import Estimate, Result
from quantascope.runs.config import Config
from quantascope.runs.provenance import made_with
from quantascope.runs.run_directory import RunDirectory
from quantascope.runs.sweep import Watcher, run_all


@dataclass(frozen=True)
class Cost:
    """A cost in seconds of one process and bytes of memory."""

    seconds: float
    memory: int

    def __str__(self) -> str:
        """The cost as text, in suitable units.

        >>> print(Cost(7200.0, 3 * 10**9))
        2.0 hours, 3.0 GB
        """
        for size, unit in ((365 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
            if self.seconds >= size:
                return f"{self.seconds / size:,.1f} {unit}, {self.memory / 1e9:.1f} GB"
        return f"{self.seconds:.0f} seconds, {self.memory / 1e9:.1f} GB"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, named as on the command line."""

    name: str
    says: str
    presets: Mapping[str, Any]
    runs: Callable[[Any], Mapping[str, Any]]
    prepare: Callable[[Any], Any]
    work: Callable[..., Any]
    """`Work` that also takes a device."""
    steps: Callable[[Any], int]
    measure: Callable[[Any, Mapping[str, Any]], Mapping[str, Estimate]]
    cost: Callable[[Iterable[Any], int, str], Cost] | None = None
    """Estimates time and memory of all runs on a number of processes and a device, for expensive claims."""
    summary: Callable[[Mapping[str, Estimate]], Mapping[str, Estimate]] | None = None
    """Computes derived figures from the measured figures of all seeds.

    Given if each measured figure has one value per seed, so that the claim can be published in parts.
    """
    keeps_figure: bool = False
    """Whether a result in parts keeps the picture of the first part, because drawing needs the runs themselves."""
    shares: str | None = None
    """The name of a set of runs that several claims share."""


def exact_claim(
    *, name: str, says: str, config: Config, measure: Callable[[Any, Mapping[str, Any]], Mapping[str, Estimate]]
) -> Claim:
    """A claim about exact facts: nothing is trained, and all presets are the same."""
    return Claim(
        name=name,
        says=says,
        presets=dict.fromkeys(("quick", "full", "paper"), config),
        runs=lambda config: {},
        prepare=lambda run: None,
        work=lambda run, path, progress, device: None,
        steps=lambda run: 0,
        measure=measure,
    )


@dataclass(frozen=True)
class Reproduction:
    """A reproduced claim: its result, the evidence it was read from, and where it was written."""

    result: Result
    config: Any
    evidence: Mapping[str, Any]
    folder: Path


def no_summary(figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """An empty summary, for claims whose figures all have one value per seed."""
    return {}


def summarized(claim: Claim, figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The measured and the derived figures."""
    return {**figures, **(claim.summary(figures) if claim.summary else {})}


def reproduce(
    claim: Claim,
    config: Config,
    *,
    preset: str,
    folder: Path,
    engine: Executor,
    watch: Watcher | None = None,
    shared: Path | None = None,
    device: str = "cpu",
) -> Reproduction:
    """Train the claim's networks, measure them, and write `result.json` to `folder`.

    Runs are saved under `folder`, or, if claims share them, under `shared` if given. Runs use the device; figures
    are measured on the CPU, wherever the engine's workers are.
    """
    labelled = claim.runs(config)
    if claim.shares and shared:
        jobs = {shared / f"{label}-{job.hash()[:8]}": job for label, job in labelled.items()}
    else:
        jobs = {folder / "runs" / label: job for label, job in labelled.items()}
    for job in jobs.values():
        claim.prepare(job)  # raises for an impossible run before anything is written
    run = RunDirectory.open(folder, config)
    with run.locked():
        run_all(partial(claim.work, device=device), jobs, engine=engine, steps=claim.steps, watch=watch)
        evidence = {
            label: claim.work(job, path, None, device="cpu")
            for label, (path, job) in zip(labelled, jobs.items(), strict=True)
        }
        figures = summarized(claim, claim.measure(config, evidence))
        trained = sorted(
            {RunDirectory(path, job).made_with.get("commit", "unknown") for path, job in jobs.items()}
        )
        software = {**made_with(), "trained_at": ", ".join(trained) or "nothing trained"}
        result = Result.of(claim.name, preset, config, figures, software)
        result.save(folder / "result.json")
    return Reproduction(result, config, evidence, folder)
