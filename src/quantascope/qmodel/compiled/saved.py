"""A trained compiled Q-model as one file: weights, graph and vocabulary."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from quantascope.models.saved import load_model, save_model
from quantascope.qmodel.compiled.model import CompiledConfig, CompiledQModel
from quantascope.quanta.graph import Edge, EdgeKind, QGraph
from quantascope.runs.config import Config, Count, Positive

KIND = "compiled Q-model"


def save_qmodel(path: Path, model: CompiledQModel, vocabulary: tuple[str, ...], *, made_by: str) -> None:
    """Save a Q-model, its graph and its vocabulary."""
    graph = model.graph
    about = {
        "vocabulary": list(vocabulary),
        "positions": model.positions,
        "model": model.config.model_dump(mode="json"),
        "quanta": list(graph.names),
        "edges": [[edge.parent, edge.child, edge.kind.value] for edge in graph.edges],
        "emitters": list(graph.emitters),
    }
    save_model(path, model, kind=KIND, about=about, made_by=made_by)


def load_qmodel(path: Path, *, made_by: str | None = None) -> tuple[CompiledQModel, tuple[str, ...]]:
    """Load a Q-model and its vocabulary."""
    model, about = load_model(path, _build, kind=KIND, make="quantascope train compiled", made_by=made_by)
    return model, tuple(about["vocabulary"])


class _Description(Config):
    """What of a description the network is built from."""

    model_config = ConfigDict(extra="ignore")

    vocabulary: tuple[str, ...]
    positions: Positive
    model: CompiledConfig
    quanta: tuple[str, ...]
    edges: tuple[tuple[Count, Count, EdgeKind], ...]
    emitters: tuple[Count, ...]


def _build(about: Mapping[str, Any]) -> CompiledQModel:
    found = _Description.parse(about)
    edges = tuple(Edge(parent, child, kind) for parent, child, kind in found.edges)
    return CompiledQModel(
        graph=QGraph(found.quanta, edges, found.emitters),
        vocabulary=len(found.vocabulary),
        positions=found.positions,
        config=found.model,
        seed=0,
    )
