"""What a claim of the paper is made of, and how one is reproduced.

config  -> runs             the preset says which networks to train
runs    -> run directories  on an engine; those that are there are reused
curves  -> figures          with intervals over runs
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quantascope.artefact import write_json
from quantascope.config import Config
from quantascope.experiments.result import Estimate, Result
from quantascope.provenance import made_with
from quantascope.run import RunDirectory
from quantascope.sweep import Watcher, Work, run_all


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, named as on the command line."""

    name: str
    says: str
    presets: Mapping[str, Any]
    runs: Callable[[Any], Mapping[str, Any]]
    prepare: Callable[[Any], Any]
    work: Work
    steps: Callable[[Any], int]
    measure: Callable[[Any, Mapping[str, Any]], Mapping[str, Estimate]]


@dataclass(frozen=True)
class Reproduction:
    """A reproduced claim: its result, the evidence it was read from, and where it was written."""

    result: Result
    config: Any
    evidence: Mapping[str, Any]
    folder: Path


def reproduce(
    claim: Claim, config: Config, *, preset: str, folder: Path, engine: Executor, watch: Watcher | None = None
) -> Reproduction:
    """Train what the claim needs under `folder`, measure it, and write `result.json`."""
    jobs = {folder / "runs" / label: job for label, job in claim.runs(config).items()}
    for job in jobs.values():
        claim.prepare(job)  # an impossible run is refused before anything is written
    run = RunDirectory.open(folder, config)
    with run.locked():
        run_all(claim.work, jobs, engine=engine, steps=claim.steps, watch=watch)
        evidence = {path.name: claim.work(job, path, None) for path, job in jobs.items()}
        figures = claim.measure(config, evidence)
        trained = sorted(
            {RunDirectory(path, job).made_with.get("commit", "unknown") for path, job in jobs.items()}
        )
        software = {**made_with(), "trained_at": ", ".join(trained) or "nothing trained"}
        result = Result.of(claim.name, preset, config, figures, software)
        write_json(folder / "result.json", result.to_json())
    return Reproduction(result, config, evidence, folder)
