"""Draws a Q-graph by levels: prerequisites above, dependents below."""

import io
import itertools
from collections.abc import Iterable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve

from quantascope.quanta.graph import Edge, EdgeKind, QGraph
from quantascope.report.figures.style import BLUE, GREY, ORANGE, VERMILLION, house_style, legible
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.files import write_bytes

FORMATS = ("png", "svg", "pdf")
_ROW, _SWEEPS = 0.75, 24
Waypoint = tuple[int, int]
"""A quantum, or the point where a long edge crosses a level: (quantum or −edge − 1, level)."""


def check_drawing(file: Path) -> None:
    """Raise for a file of another format, or in a folder that does not exist."""
    if file.suffix.removeprefix(".") not in FORMATS:
        raise InvalidConfig(f"cannot draw into {file.name}; end it in .{', .'.join(FORMATS)}")
    if not file.parent.is_dir():
        raise InvalidConfig(f"there is no folder {file.parent} for the figure {file.name}; create it first")


def write_drawing(graph: QGraph, file: Path) -> None:
    """Draw a graph into a file in the format of its suffix."""
    check_drawing(file)
    suffix = file.suffix.removeprefix(".")
    with house_style():
        figure, buffer = legible(draw_graph(graph)), io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=None if suffix == "png" else {_dated(suffix): None})
    write_bytes(file, buffer.getvalue())


def draw_graph(graph: QGraph) -> Figure:
    """Quanta as boxes, level by level; data solid, control dashed; emitters in colour."""
    routes = {edge: _route(graph, index, edge) for index, edge in enumerate(graph.edges)}
    column = 0.45 + 0.07 * max(map(len, graph.names))
    place = {point: (x * column, -point[1] * _ROW) for point, x in _places(graph, routes.values()).items()}
    half = max(column, *(abs(x) for x, _ in place.values()))
    figure = Figure(figsize=(max(5.0, 2 * half + 2.2 * column), 0.9 + _ROW * len(graph.by_level)))
    axes = figure.add_subplot()
    for edge, route in routes.items():
        _draw_edge(axes, edge, [place[point] for point in route])
    for quantum, name in enumerate(graph.names):
        colour = VERMILLION if quantum in graph.emitters else BLUE
        axes.text(
            *place[quantum, graph.levels[quantum]], name, ha="center", va="center", fontsize=6.5, zorder=3,
            parse_math=False,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour, "linewidth": 1.1},
        )  # fmt: skip
    _finish(axes, graph, half, column)
    return figure


def _route(graph: QGraph, index: int, edge: Edge) -> list[Waypoint]:
    first, last = graph.levels[edge.parent], graph.levels[edge.child]
    return [(edge.parent, first), *((-index - 1, level) for level in range(first + 1, last)), (edge.child, last)]


def _places(graph: QGraph, routes: Iterable[list[Waypoint]]) -> dict[Waypoint, float]:
    """The horizontal position of each item: near the mean of its neighbours above and below."""
    rows: list[list[Waypoint]] = [[(quantum, at) for quantum in level] for at, level in enumerate(graph.by_level)]
    neighbours: dict[Waypoint, list[Waypoint]] = {point: [] for row in rows for point in row}
    for route in routes:
        for point in route[1:-1]:
            rows[point[1]].append(point)
            neighbours[point] = []
        for above, below in itertools.pairwise(route):
            neighbours[above].append(below)
            neighbours[below].append(above)
    across = {point: x for row in rows for point, x in zip(row, _centred(len(row)), strict=True)}
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            side = -1 if sweep % 2 == 0 else 1
            pull = {point: _pull(point, neighbours[point], across, side) for point in row}
            row.sort(key=lambda point: pull[point])
            across.update(zip(row, _centred(len(row)), strict=True))
    return across


def _pull(point: Waypoint, around: list[Waypoint], across: dict[Waypoint, float], side: int) -> float:
    seen = [across[other] for other in around if other[1] - point[1] == side]
    return sum(seen) / len(seen) if seen else across[point]


def _centred(count: int) -> list[float]:
    return [index - (count - 1) / 2 for index in range(count)]


def _draw_edge(axes: Axes, edge: Edge, points: list[tuple[float, float]]) -> None:
    """A curve that leaves and enters vertically."""
    vertices, codes = [points[0]], [Curve.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Curve.CURVE4] * 3
    style = ":" if EdgeKind.DATA not in edge.kind else "-"
    axes.add_patch(PathPatch(Curve(vertices, codes), fill=False, **_look(edge.kind), linestyle=style, zorder=1))


def _look(kind: EdgeKind) -> dict[str, object]:
    if EdgeKind.CONTROL not in kind:
        return {"edgecolor": GREY, "linewidth": 1.0}
    return {"edgecolor": ORANGE, "linewidth": 1.3}


def _finish(axes: Axes, graph: QGraph, half: float, column: float) -> None:
    levels = len(graph.by_level)
    left = -half - column
    for level in range(levels):
        axes.text(left, -level * _ROW, f"{level}", ha="center", va="center", fontsize=7, color=GREY)
    axes.text(left, 0.55 * _ROW, "level", ha="center", va="center", fontsize=7, color=GREY)
    axes.set(xlim=(left - 0.3, half + 0.6 * column), ylim=(-(levels - 1) * _ROW - 0.95, 0.75 * _ROW))
    axes.axis("off")
    handles = [
        Line2D([], [], color=GREY, linewidth=1.0, label="data"),
        Line2D([], [], color=ORANGE, linewidth=1.3, linestyle=":", label="control"),
        Line2D([], [], color=ORANGE, linewidth=1.3, label="data and control"),
        Line2D(
            [], [], color=VERMILLION, marker="s", markerfacecolor="white", linestyle="", label="writes a token"
        ),
    ]
    axes.legend(handles=handles, loc="lower center", ncols=4, handletextpad=0.5, columnspacing=1.2)


def _dated(suffix: str) -> str:
    return "Date" if suffix == "svg" else "CreationDate"
