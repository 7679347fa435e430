"""The union of all data and control dependencies, as a graph."""

from quantascope.program.passes.execute import Observations
from quantascope.program.passes.signatures import Signatures
from quantascope.quanta.graph import Edge, EdgeKind, QGraph


def dependency_graph(observed: Observations, signatures: Signatures) -> QGraph:
    """The graph of all observed dependencies; its `hasse` keeps the direct ones."""
    edges = []
    for child, signature in enumerate(signatures):
        data = signature._replace(control=0).parents
        for parent in range(len(signatures)):
            kind = EdgeKind(0)
            if data >> parent & 1:
                kind |= EdgeKind.DATA
            if signature.control >> parent & 1:
                kind |= EdgeKind.CONTROL
            if kind:
                edges.append(Edge(parent, child, kind))
    emitters = sorted({activation.emitter for activation in observed.activations})
    return QGraph(observed.names, tuple(edges), tuple(emitters))
