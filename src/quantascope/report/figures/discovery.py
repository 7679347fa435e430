"""The figure of a discovery: when quanta were acquired, which events they cover, and in what order they came."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.experiments.discovery import Discovery, event_map
from quantascope.priority import improvement, mean_acquisition
from quantascope.report.figures.style import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, title
from quantascope.tasks.number_naming import VOCABULARY
from quantascope.tasks.number_naming.oracle import TEENS, TENS, UNITS

LAYER_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION)
_WORDS = (*UNITS, *TEENS, *TENS, "hundred", "thousand", "EOS")


def draw(found: Discovery) -> Figure:
    """Acquisition curves, the event map, and time against demand and complexity."""
    figure = Figure(figsize=(11, 7))
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.15))
    curves, demand, complexity = (figure.add_subplot(grid[0, column]) for column in range(3))
    acquisition_panel(curves, found, letter="a")
    time_panel(demand, [found], found.factors.demand, "demand (share of events)", letter="b")
    time_panel(complexity, [found], found.complexity, "packet complexity (hidden units)", letter="c")
    map_panel(figure.add_subplot(grid[1, :]), found, letter="d")
    return figure


def acquisition_panel(axes: Axes, found: Discovery, *, letter: str) -> None:
    """Cumulative curves by layer, their mean, and the improvement of the held-out loss."""
    steps = found.trained.steps
    layers = found.factors.layer
    for index, curve in enumerate(found.factors.cumulative):
        layer = int(layers[index])
        first = index == int(np.flatnonzero(layers == layer)[0])
        label = found.trained.layers[layer] if first else None
        axes.plot(
            steps, [0, *curve], color=_colour(layer), linewidth=0.9, alpha=0.75, drawstyle="default", label=label
        )
    if len(found.factors):
        axes.plot(steps, [0, *mean_acquisition(found.factors)], color="black", linewidth=1.8, label="their mean")
    if found.held_out_loss[-1] < found.held_out_loss[0]:
        improved = [0, *improvement(found.held_out_loss)]
        axes.plot(steps, improved, color=VERMILLION, linewidth=1.8, linestyle="--", label="held-out improvement")
    last = int(found.acquired.max()) if len(found.factors) else int(steps[-1])
    axes.set(xlabel="training step", ylabel="share acquired", ylim=(-0.02, 1.02))
    axes.set_xlim(0, min(int(steps[-1]), 2 * last))
    axes.legend(loc="lower right", frameon=True, framealpha=0.85, edgecolor="none")
    title(axes, letter, f"{len(found.factors)} quanta, {found.trained.rule} rule")


def time_panel(axes: Axes, discoveries: list[Discovery], values: np.ndarray, label: str, *, letter: str) -> None:
    """When each factor was acquired against one of its properties."""
    steps = np.concatenate([found.acquired for found in discoveries])
    layers = np.concatenate([found.factors.layer for found in discoveries])
    names = discoveries[0].trained.layers
    for layer, name in enumerate(names):
        own = layers == layer
        axes.scatter(values[own], steps[own], s=22, color=_colour(layer), alpha=0.8, linewidths=0, label=name)
    axes.set(xlabel=label, ylabel="acquired by step")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best", handletextpad=0.2)
    title(axes, letter, f"time against {label.split(' (')[0]}")


def map_panel(axes: Axes, found: Discovery, *, letter: str) -> None:
    """Which output words' events are in which support, the earliest quantum on top."""
    target = found.source.events.target.numpy()
    words = [word for word in _WORDS if (target == VOCABULARY.index(word)).any()]
    order = np.lexsort((found.factors.layer, found.acquired))
    shares = event_map(found.factors.supports, target, [VOCABULARY.index(word) for word in words])[order]
    image = axes.imshow(shares, aspect="auto", cmap=colormaps["cividis"], vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(words)), words, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(
        range(len(order)), [f"{found.names[index]}  {int(found.acquired[index]):,}" for index in order]
    )
    axes.tick_params(length=0)
    axes.set_ylabel("quantum and its step")
    bar = axes.figure.colorbar(image, ax=axes, pad=0.01)  # pyright: ignore[reportAttributeAccessIssue]
    bar.set_label("share of the word's events")
    title(axes, letter, "supports: which predictions each quantum helps, by output word")


def _colour(layer: int) -> str:
    return LAYER_COLOURS[layer % len(LAYER_COLOURS)]
