"""Draw the small figures of the concepts pages: `python docs/concepts/draw.py` writes them beside the pages.

smooth    the loss of a hundred quanta, each acquired in one step, is smooth
field     a small priority field, and the supports and curves that it is made of
qmodel    what a Q-model does at one token
clock     demand and conditional complexity set the time of acquisition
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    house_style,
    panels,
)
from quantascope.theory import ConstantComplexity, MissingAncestors, Poset, parallel

FOLDER = Path(__file__).parent
COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)


def smooth() -> Figure:
    """Left: five losses that fall in one step each. Right: the loss of three hundred of them."""
    figure, (few, many) = panels(2, height=2.4)
    rng = np.random.default_rng(0)
    for axes, quanta in ((few, 5), (many, 300)):
        demand = (1 + np.arange(quanta)) ** -0.5
        demand /= demand.sum()
        run = parallel(Poset.antichain(quanta), demand, ConstantComplexity(rng.uniform(0.5, 2, quanta)))
        time = np.linspace(0, 1.05 * run.time.max(), 2000)
        losses = demand[:, None] * (time < run.time[:, None])
        for place, quantum in enumerate(range(0, quanta, max(1, quanta // 5))):
            axes.plot(time, losses[quantum], color=COLOURS[place % len(COLOURS)], lw=1.2)
        axes.plot(time, losses.sum(0), color="black", lw=1.8)
        axes.set(xlabel="training time", ylabel="loss", xticks=[])
    few.set_title("five quanta: their losses, and the sum")
    many.set_title("300 quanta: the sum is smooth")
    return figure


def field() -> Figure:
    """A planted field, and the supports and curves that it is the sum of."""
    planted = plant(PlantedConfig(events=60, intervals=40, factors=3, noise=0.3, width=2.5, seed=2))
    order = np.lexsort(planted.supports)[::-1]
    figure = Figure(figsize=(7, 2.6))
    grid = figure.add_gridspec(1, 3, width_ratios=(2.2, 0.6, 2.2))
    values, supports, curves = (figure.add_subplot(grid[place]) for place in range(3))
    scale = np.abs(planted.values).max()
    values.imshow(planted.values[0][order], aspect="auto", cmap="RdBu_r", vmin=-scale, vmax=scale)
    values.set(title="priority field", xlabel="interval of training", ylabel="event")
    shown = np.ones((len(order), 3, 3))
    for quantum in range(3):
        colour = tuple(int(COLOURS[quantum][at : at + 2], 16) / 255 for at in (1, 3, 5))
        shown[planted.supports[quantum][order], quantum] = colour
        curves.plot(planted.curves[quantum], color=COLOURS[quantum], label=f"quantum {quantum}")
    supports.imshow(shown, aspect="auto", interpolation="nearest")
    supports.set(title="supports", yticks=[], xticks=range(3), xlabel="quantum")
    curves.set(title="curves", xlabel="interval of training", ylabel="loss removed")
    curves.legend()
    return figure


def qmodel() -> Figure:
    """Boxes and arrows of one quantum: what it reads, its gate, its writers, and where its message goes."""
    figure = Figure(figsize=(7, 2.3))
    axes = figure.add_subplot()
    axes.set(xlim=(0, 14), ylim=(0, 4.6))
    axes.axis("off")
    _box(axes, 0.2, 1.7, 2.3, "embedding\n+ messages of\nits parents", GREY)
    _box(axes, 3.5, 1.7, 2.0, "reads earlier\ntokens", SKY)
    _box(axes, 6.5, 3.1, 2.2, "gate: needed\nhere? 0 or 1", ORANGE)
    _box(axes, 6.5, 0.3, 2.2, "writers: on or\noff, a direction", GREEN)
    _box(axes, 9.7, 1.7, 1.8, "message", BLUE)
    _box(axes, 12.2, 3.1, 1.7, "children", GREY)
    _box(axes, 12.2, 0.3, 1.7, "prediction", GREY)
    for start, end in (
        ((2.5, 2.3), (3.5, 2.3)), ((5.5, 2.5), (6.5, 3.5)), ((5.5, 2.1), (6.5, 1.1)), ((8.7, 3.5), (9.7, 2.6)),
        ((8.7, 1.1), (9.7, 2.0)), ((11.5, 2.6), (12.2, 3.4)), ((11.5, 2.0), (12.2, 1.2)),
    ):  # fmt: skip
        axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color="black", lw=0.9))
    axes.text(11.65, 3.2, "channel", fontsize=7, style="italic", ha="center", va="bottom")
    return figure


def _box(axes: Axes, x: float, y: float, width: float, text: str, colour: str) -> None:
    box = FancyBboxPatch((x, y), width, 1.2, boxstyle="round,pad=0.05", fc=f"{colour}33", ec=colour)
    axes.add_patch(box)
    axes.text(x + width / 2, y + 0.6, text, ha="center", va="center", fontsize=8)


def clock() -> Figure:
    """Left: time against demand, for two complexities. Right: a child learned before and after its parent."""
    figure, (time, order) = panels(2, height=2.4)
    demand = np.geomspace(0.001, 0.1, 50)
    for kappa, colour in ((1, BLUE), (4, VERMILLION)):
        time.plot(demand, kappa / demand, color=colour, label=f"complexity {kappa}")
    time.set(xscale="log", yscale="log", xlabel="demand p", ylabel="time of acquisition κ / p")
    time.set_title("needed more often, or simpler: earlier")
    time.legend()
    ratio = np.linspace(0.5, 6, 200)
    kappa = MissingAncestors(np.array([-1, 0]), [1.0, 1.0])
    runs = [parallel(Poset.antichain(2), [0.2, 0.2 * one], kappa).time for one in ratio]
    for who, colour, name in ((0, BLUE, "parent"), (1, ORANGE, "child")):
        order.plot(ratio, [run[who] for run in runs], color=colour, label=name)
    order.set(xlabel="demand of the child / demand of the parent", ylabel="time of acquisition")
    order.set_title("a child that builds on its parent")
    order.legend()
    return figure


def main() -> None:
    drawings: tuple[Callable[[], Figure], ...] = (smooth, field, qmodel, clock)
    with house_style():
        for draw in drawings:
            draw().savefig(FOLDER / f"{draw.__name__}.png", dpi=150)


if __name__ == "__main__":
    main()
