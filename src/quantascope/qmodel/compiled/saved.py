"""A trained compiled Q-model as one file: weights, graph and vocabulary."""

from pathlib import Path

from quantascope.qmodel.compiled.model import CompiledConfig, CompiledQModel
from quantascope.quanta.graph import Edge, EdgeKind, QGraph
from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact

KIND = "compiled Q-model"


def save_qmodel(path: Path, model: CompiledQModel, vocabulary: tuple[str, ...], *, made_by: str) -> None:
    """Write a Q-model, its graph and the symbols that it speaks."""
    graph = model.graph
    write_tensors(
        path,
        model.state_dict(),
        made_by=made_by,
        kind=KIND,
        vocabulary=list(vocabulary),
        positions=model.positions,
        model=model.config.model_dump(mode="json"),
        quanta=list(graph.names),
        edges=[[edge.parent, edge.child, edge.kind.value] for edge in graph.edges],
        emitters=list(graph.emitters),
    )


def load_qmodel(path: Path, *, made_by: str | None = None) -> tuple[CompiledQModel, tuple[str, ...]]:
    """A Q-model and its vocabulary."""
    tensors, about = read_tensors(path, made_by=made_by)
    if about.get("kind") != KIND:
        raise DamagedArtefact(f"{path} holds no Q-model; give a file that quantascope train compiled wrote")
    edges = tuple(Edge(parent, child, EdgeKind(kind)) for parent, child, kind in about["edges"])
    vocabulary = tuple(about["vocabulary"])
    model = CompiledQModel(
        graph=QGraph(tuple(about["quanta"]), edges, tuple(about["emitters"])),
        vocabulary=len(vocabulary),
        positions=about["positions"],
        config=CompiledConfig.parse(about["model"]),
        seed=0,
    )
    model.load_state_dict(tensors)
    return model.eval(), vocabulary
