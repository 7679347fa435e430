"""Figure of a trace: the active gates and writers at each emitted token, and both models' predictions."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from quantascope.qmodel.recovered.trace import Step, Trace
from quantascope.report.figures.style import BLUE, GREY, ORANGE, VERMILLION, title
from quantascope.report.text import plain


def draw(followed: Trace) -> Figure:
    """Quanta by emitted tokens with their channels, and the probabilities of both models below."""
    columns = len(followed.steps)
    figure = Figure(figsize=(max(6.5, 1.5 + 1.35 * columns), 2.4 + 0.27 * len(followed.quanta)))
    grid = figure.add_gridspec(2, 1, height_ratios=(0.27 * len(followed.quanta) + 0.3, 1.7))
    _gates(figure.add_subplot(grid[0]), followed)
    _probabilities(figure.add_subplot(grid[1]), followed)
    return figure


def _gates(axes: Axes, followed: Trace) -> None:
    rows = {name: row for row, name in enumerate(followed.quanta)}
    strongest = max((unit.activity for step in followed.steps for unit in step.gates), default=1.0) or 1.0
    for column, step in enumerate(followed.steps):
        writing = _written(step)
        for unit in step.gates:
            row, wrote = rows[unit.name], writing.get(unit.name, 0)
            shade = 0.25 + 0.75 * np.sqrt(unit.activity / strongest) if wrote else 0.0
            axes.add_patch(
                Rectangle(
                    (column - 0.3, row - 0.42), 0.6, 0.84,
                    facecolor=(*_rgb(ORANGE), shade), edgecolor=ORANGE, linewidth=1.0,
                )
            )  # fmt: skip
            axes.text(column, row, f"{wrote}", ha="center", va="center", fontsize=8)
        for offset, (parent, child) in enumerate(step.channels):
            place = column + 0.34 + 0.32 * (offset + 0.5) / len(step.channels)
            axes.annotate(
                "", xy=(place, rows[child]), xytext=(place, rows[parent]),
                arrowprops={"arrowstyle": "-|>", "color": BLUE, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
    layers = [name.split(".")[0] for name in followed.quanta]
    for row in range(1, len(layers)):
        if layers[row] != layers[row - 1]:
            axes.axhline(row - 0.5, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_xticks(range(len(followed.steps)), [""] * len(followed.steps))
    axes.tick_params(length=0)
    axes.set(xlim=(-0.5, len(followed.steps) - 0.1), ylim=(len(rows) - 0.5, -0.5), ylabel="quantum")
    axes.spines[["left", "bottom"]].set_visible(False)
    title(
        axes, "a",
        f"{plain(followed.input)}: open gates (orange, darker with more written), active writers (number), "
        "channels used (blue)",
    )  # fmt: skip


def _probabilities(axes: Axes, followed: Trace) -> None:
    for column, step in enumerate(followed.steps):
        for shift, (top, colour) in enumerate(((step.top, ORANGE), (step.source_top, GREY))):
            (token, probability), x = top[0], column + 0.36 * shift - 0.18
            axes.bar(x, probability, width=0.32, color=colour)
            wrong = followed.right is not None and token != step.right
            axes.text(
                x, probability + 0.03, plain(token), rotation=90, ha="center", va="bottom", fontsize=8,
                color=VERMILLION if wrong else "black",
            )  # fmt: skip
    for label, colour in (("Q-model", ORANGE), ("source", GREY)):
        axes.bar(0, 0, color=colour, label=label)
    labels = [
        plain(step.token)
        if followed.right is None or step.token == step.right
        else f"{plain(step.token)}\nright: {plain(step.right) if step.right else 'nothing'}"
        for step in followed.steps
    ]
    axes.set_xticks(range(len(followed.steps)), labels)
    axes.tick_params(axis="x", length=0)
    axes.set(xlim=(-0.5, len(followed.steps) - 0.1), ylim=(0, 2.0), ylabel="probability")
    axes.set_yticks([0, 0.5, 1])
    axes.set_xlabel("emitted token")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2)
    title(axes, "b", "most probable token of both models after the same prefix; red: wrong")


def _written(step: Step) -> dict[str, int]:
    names = [unit.name.rpartition(".")[0] for unit in step.writers]
    return {name: names.count(name) for name in names}


def _rgb(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))  # pyright: ignore[reportReturnType]
