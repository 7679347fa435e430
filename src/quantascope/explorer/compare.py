"""The view that compares runs: settings that differ, losses, matched quanta, acquisitions, accuracies."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quantascope.explorer.forest_run import ForestRun, node_name
from quantascope.explorer.guided_run import GuidedNetworkRun
from quantascope.explorer.program_run import ProgramRun
from quantascope.explorer.quanta import quantum_rows
from quantascope.explorer.recurring import Recurring, matched
from quantascope.explorer.shown_run import ShownRun, trouble
from quantascope.explorer.source_run import SourceRun
from quantascope.explorer.training import training
from quantascope.explorer.values import drawn
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.run_directory import is_run, read_run
from quantascope.theory import closure_from_query

MOST = 6
NO_MATCH = "Quanta are matched by the events that they help, but these runs were trained on different events."
NO_QUANTA = "Not all of these runs have quanta yet; run quantascope discover on each."


def group(run: ShownRun) -> str:
    """The data by which a run is compared."""
    return {SourceRun: "source", ForestRun: "forest"}.get(type(run), "accuracy")


def comparable(runs: Sequence[ShownRun], run: ShownRun) -> list[ShownRun]:
    """Runs that can be compared with this one, including itself."""
    return [other for other in runs if group(other) == group(run)]


def compare(runs: Sequence[ShownRun]) -> dict[str, Any]:
    """Compare several runs."""
    if not 2 <= len(set(runs)) == len(runs) <= MOST:
        raise InvalidConfig(f"{len(runs)} runs cannot be compared; give 2 to {MOST} different ones")
    kinds = {group(run) for run in runs}
    if len(kinds) > 1:
        raise InvalidConfig(f"runs of kinds {' and '.join(sorted(kinds))} cannot be compared; choose one kind")
    sources = [run for run in runs if isinstance(run, SourceRun)]
    found = matched(sources) if sources else None
    settings = _differing(runs)
    return {
        "kind": kinds.pop(),
        "note": _note(sources, found),
        "permutations": found.permutations if found else 0,
        "runs": [
            {
                "id": run.id,
                "title": run.title,
                "kind": run.kind,
                "settings": own,
                **_empty(),
                **_shown(run, runs, found),
            }
            for run, own in zip(runs, settings, strict=True)
        ],
    }


def _note(sources: Sequence[SourceRun], found: Recurring | None) -> str | None:
    if not sources or (found and len(found.runs) == len(sources)):
        return None
    return NO_MATCH if all(run.has_quanta for run in sources) else NO_QUANTA


def _empty() -> dict[str, Any]:
    return {"losses": [], "bounds": [], "quanta": [], "accuracy": {}, "tasks": []}


def _shown(run: ShownRun, runs: Sequence[ShownRun], found: Recurring | None) -> dict[str, Any]:
    if isinstance(run, SourceRun):
        shown = training(run)
        kept = [loss for loss in shown["losses"] if loss["kind"] in ("all", "held-out", "step")]
        return {"losses": kept, "bounds": shown["bounds"], "quanta": _quanta(run, runs, found)}
    if isinstance(run, ForestRun):
        return _forest(run)
    assert isinstance(run, ProgramRun | GuidedNetworkRun)
    return {"accuracy": {} if trouble(lambda: run.accuracy) else run.accuracy}


def _quanta(run: SourceRun, runs: Sequence[ShownRun], found: Recurring | None) -> list[dict[str, Any]]:
    """The rows of a run's quanta, with their curves and their partners in the other runs."""
    if trouble(lambda: run.discovery):
        return []
    discovery = run.discovery
    place = {name: index for index, name in enumerate(discovery.names)}
    return [
        {
            **row,
            "curve": drawn(discovery.factors.curves[place[row["name"]]]),
            "partners": [_partner(run, other, place[row["name"]], found) for other in runs],
        }
        for row in quantum_rows(run, discovery)
    ]


def _partner(run: SourceRun, other: ShownRun, quantum: int, found: Recurring | None) -> dict[str, Any] | None:
    own = found.of(run) if found else None
    if own is None or found is None or other is run or other not in found.runs:
        return None
    assert isinstance(other, SourceRun)
    column = found.runs.index(other)
    partner = int(own.partner[quantum, column])
    if partner < 0:
        return None
    return {
        "name": other.discovery.names[partner],
        "mcc": float(own.mcc[quantum, column]),
        "chance": float(own.chance[quantum, column]),
        "recurs": bool(own.recurs[quantum, column]),
    }


def _forest(run: ForestRun) -> dict[str, Any]:
    curves = run.curves
    forest, steps = curves.forest, curves.times.step
    demand = closure_from_query(forest.parent, forest.query)
    return {
        "losses": [
            {
                "name": "held-out, bits",
                "kind": "held-out",
                "steps": curves.step.tolist(),
                "values": drawn(curves.loss),
            }
        ],
        "tasks": [
            {
                "name": node_name(node),
                "demand": float(demand[node]),
                "acquired": None if np.isnan(steps[task]) else int(steps[task]),
            }
            for task, node in enumerate(forest.tasks.tolist())
        ],
    }


def _differing(runs: Sequence[ShownRun]) -> list[list[list[str]]]:
    """The settings of each run that differ between runs."""
    flat = [_flat(read_run(run.folder).config) if is_run(run.folder) else {} for run in runs]
    names = list(dict.fromkeys(name for one in flat for name in one))
    other = [name for name in names if len({one.get(name) for one in flat}) > 1]
    return [[[name, one.get(name, "")] for name in other] for one in flat]


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in config.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": str(value)}
    return found
