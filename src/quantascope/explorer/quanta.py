"""The quanta views: a table of all quanta, a single quantum, and the layers compared with other models."""

from typing import Any

from quantascope.discovery.discover import Discovery
from quantascope.explorer.recurring import matched
from quantascope.explorer.request import Request
from quantascope.explorer.shown_run import trouble
from quantascope.explorer.source_run import SourceRun
from quantascope.explorer.values import drawn
from quantascope.report.discovery import field_json, layers_json, quanta_json

MOST_OTHERS = 5
"""Largest number of other runs in which quanta are matched."""


def quanta(run: SourceRun) -> dict[str, Any]:
    """All quanta, the earliest first, and the reliability of their field."""
    found = run.discovery
    about = run.kept.get("field", lambda: field_json(found), of=found)
    counts = zip(found.trained.layers, found.per_layer.tolist(), found.explained.tolist(), strict=True)
    return {
        **{name: about[name] for name in ("threshold", "rule", "reliable", "completeness", "event_correlation")},
        "layers": [{"layer": name, "factors": count, "explained": share} for name, count, share in counts],
        "quanta": quantum_rows(run, found),
    }


def quantum_rows(run: SourceRun, found: Discovery) -> list[dict[str, Any]]:
    """The rows of `quantascope discover --json`, with further facts about each quantum."""
    said, layers = run.quantum_descriptions, found.trained.layers
    others = [other for other in run.beside if other is not run]
    recurring = matched([run, *others[:MOST_OTHERS]])
    own = recurring.of(run) if recurring else None
    place = {name: index for index, name in enumerate(found.names)}
    rows = []
    for row in run.kept.get("rows", lambda: quanta_json(found)["quanta"], of=found):
        name = row["quantum"]
        factor = place[name]
        rows.append(
            {
                "name": name,
                "layer": layers[int(found.factors.layer[factor])],
                **{key: row[key] for key in ("acquired", "demand", "complexity", "explained", "words")},
                "events": int(found.factors.supports[factor].sum()),
                "description": _told(said.get(name)),
                "recurrence": None if own is None else float(own.share[factor]),
            }
        )
    return rows


def layers(run: SourceRun) -> dict[str, Any]:
    """The share of each layer that quanta explain, and the same for an SVD and NMF of equal rank (slow)."""
    found = run.discovery
    return {"layers": run.kept.get("layers", lambda: layers_json(found), of=found)}


def quantum(run: SourceRun, asked: Request) -> dict[str, Any]:
    """One quantum: its curve, and in the Q-model its parents, children and writers."""
    found = run.discovery
    name = asked.one_of("name", found.names)
    return {
        "quantum": next(row for row in quantum_rows(run, found) if row["name"] == name),
        "bounds": found.trained.steps.tolist(),
        "curve": drawn(found.factors.curves[found.names.index(name)]),
        **_in_qmodel(run, name),
    }


def _in_qmodel(run: SourceRun, name: str) -> dict[str, Any]:
    """A quantum's parents, children and writers; None without a Q-model of these quanta."""
    for preset in run.presets:
        if trouble(lambda preset=preset: run.fit(preset)):
            continue
        model = run.fit(preset).model
        if name in model.names:
            own = model.names.index(name)
            said = {} if trouble(lambda preset=preset: run.descriptions(preset)) else run.descriptions(preset)
            edges = model.channels.edges
            return {
                "parents": [model.names[edge.parent] for edge in edges if edge.child == own],
                "children": [model.names[edge.child] for edge in edges if edge.parent == own],
                "writers": [
                    {"name": writer, "description": said[writer]["text"] if writer in said else None}
                    for writer in model.writer_names[own]
                ],
            }
    return {"parents": [], "children": [], "writers": []}


def _told(description: dict[str, Any] | None) -> dict[str, Any] | None:
    """A description that has a score; a quantum that is always or never active has none."""
    if description is None or description["f1"] is None:
        return None
    return {name: value for name, value in description.items() if name != "kind"}
