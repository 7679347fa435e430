"""Figure of the joint-frontier claim."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.joint_frontier import SPLITS, Grid, grid_of
from quantascope.claims.result import Result
from quantascope.report.figures.style import BLUE, GREY, ORANGE, VERMILLION, log_axes, panels, title
from quantascope.scaling.joint import fit_joint, fit_separately


def draw(reproduction: Reproduction) -> Figure:
    """The frontier along steps for each size of the training set, held-out cells, and the errors of each law."""
    config = reproduction.config
    grids = [grid_of(config, reproduction.evidence, seed) for seed in config.seeds]
    figure, (frontier, unseen, errors) = panels(3, width=4.0, height=3.2)
    _frontier(frontier, grids)
    _unseen(unseen, grids)
    _errors(errors, reproduction.result)
    return figure


def _frontier(axes: Axes, grids: list[Grid]) -> None:
    """K against steps for the widest network."""
    cells, law = grids[0].cells, fit_joint(grids[0].cells)
    widest = cells.parameters == cells.parameters.max()
    sizes = np.unique(cells.examples)
    for place, size in enumerate(sizes):
        colour = colormaps["viridis"](0.9 * place / max(1, len(sizes) - 1))
        at = widest & (cells.examples == size)
        steps = np.geomspace(cells.steps.min() / 1.3, cells.steps.max() * 1.3, 50)
        resources = np.column_stack([np.full(50, cells.parameters.max()), np.full(50, size), steps])
        name = f"D = {size:,.0f}" if np.isfinite(size) else "fresh data"
        axes.plot(cells.steps[at], cells.count[at], "o", color=colour, markersize=4)
        axes.plot(steps, law.count(resources), color=colour, linewidth=1, label=name)
    log_axes(axes, x="steps", y="steps")
    axes.set(xlabel="training steps S", ylabel="acquired functions K")
    axes.legend(loc="upper left", fontsize=7)
    title(axes, "a", "one law (lines), widest network, one seed")


def _unseen(axes: Axes, grids: list[Grid]) -> None:
    ends: list[float] = []
    for place, grid in enumerate(grids):
        held = grid.held_out["extrapolated"]
        fitted, cells = grid.cells.where(~held), grid.cells.where(held)
        laws = ((fit_separately(fitted), GREY, "separate laws"), (fit_joint(fitted), BLUE, "joint law"))
        for law, colour, name in laws:
            predicted = law.count(cells.resources)
            ends += [float(predicted.min()), float(predicted.max())]
            label = name if place == 0 else None
            axes.plot(
                predicted, cells.count, "o", color=colour, markersize=3, alpha=0.6, markeredgewidth=0, label=label
            )
        ends += [float(cells.count.min()), float(cells.count.max())]
    span = np.array([min(ends), max(ends)])
    axes.plot(span, span, color="black", linewidth=0.8)
    log_axes(axes, x="steps", y="steps")
    axes.set(xlabel="predicted K", ylabel="measured K")
    axes.legend(loc="upper left", handletextpad=0.2)
    title(axes, "b", "larger and longer than fitted")


def _errors(axes: Axes, result: Result) -> None:
    laws = {
        "joint_loss": ("joint", BLUE),
        "separate_loss": ("separate", ORANGE),
        "additive_loss": ("additive", VERMILLION),
    }
    for place, split in enumerate(SPLITS):
        for offset, (figure, (name, colour)) in enumerate(laws.items()):
            estimate = result.figures[f"{figure}_{split}"]
            low, high = (
                (estimate.low, estimate.high) if estimate.low is not None else (estimate.mean, estimate.mean)
            )
            assert estimate.mean is not None
            reach = [[estimate.mean - max(0.0, low or 0.0)], [(high or 0.0) - estimate.mean]]
            axes.bar(
                place + 0.25 * (offset - 1), estimate.mean, width=0.22, color=colour, yerr=reach, capsize=2,
                label=name if place == 0 else None,
            )  # fmt: skip
    axes.set_xticks(range(len(SPLITS)), [f"{split}\ncells" for split in SPLITS])
    axes.set(ylabel="log error of held-out loss (nats)", ylim=(0, 1.3 * axes.get_ylim()[1]))
    axes.legend(loc="upper left", ncols=3, columnspacing=1, handlelength=1)
    title(axes, "c", "which law predicts better")
