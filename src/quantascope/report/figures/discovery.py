"""The figure of a discovery: acquisition curves, supports, and order of acquisition."""

from collections import Counter

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.discovery import improvement, mean_acquisition
from quantascope.discovery.discover import Discovery, event_map
from quantascope.report.figures.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, step_scale, title
from quantascope.report.text import plain
from quantascope.semantics.token_properties import token_class

LAYER_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY)
"""Colours of the layers; vermillion is reserved for the held-out improvement."""
MOST_WORDS = 45
"""Largest number of words on the event map; with more, events are grouped by token class."""
LONGEST_WORD = 18
"""Largest number of letters of a word below the map."""


def draw(found: Discovery) -> Figure:
    """Acquisition curves, the event map, and time against demand and complexity."""
    heights = (3.4, map_height(len(found.factors)))
    figure = Figure(figsize=(11, sum(heights)))
    grid = figure.add_gridspec(2, 3, height_ratios=heights)
    curves, demand, complexity = (figure.add_subplot(grid[0, column]) for column in range(3))
    acquisition_panel(curves, found, letter="a")
    time_panel(demand, [found], found.factors.demand, "demand (share of events)", letter="b")
    if found.complexity is None:
        time_panel(complexity, [found], found.factors.explained, "explained (share of the layer)", letter="c")
    else:
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
        axes.plot(steps, [0, *curve], color=_colour(layer), linewidth=0.9, alpha=0.75, label=label)
    if len(found.factors):
        axes.plot(steps, [0, *mean_acquisition(found.factors)], color="black", linewidth=1.8, label="their mean")
    if found.held_out_loss[-1] < found.held_out_loss[0]:
        improved = [0, *improvement(found.held_out_loss)]
        axes.plot(steps, improved, color=VERMILLION, linewidth=1.8, linestyle="--", label="held-out improvement")
    last = int(found.acquired.max()) if len(found.factors) else int(steps[-1])
    axes.set(xlabel="training step", ylabel="share acquired", ylim=(-0.02, 1.02))
    scale = step_scale(steps)
    axes.set_xscale(**scale)
    axes.set_xlim(0, min(int(steps[-1]), 2 * last) if scale["value"] == "linear" else int(steps[-1]))
    _legend_below(axes)
    title(axes, letter, f"{len(found.factors)} quanta: {found.trained.rule} rule, threshold {found.threshold:g}")


def time_panel(axes: Axes, discoveries: list[Discovery], values: np.ndarray, label: str, *, letter: str) -> None:
    """Acquisition time of each factor against one of its properties."""
    steps = np.concatenate([found.acquired for found in discoveries])
    layers = np.concatenate([found.factors.layer for found in discoveries])
    names = discoveries[0].trained.layers
    for layer, name in enumerate(names):
        own = layers == layer
        axes.scatter(values[own], steps[own], s=22, color=_colour(layer), alpha=0.8, linewidths=0, label=name)
    axes.set(xlabel=label, ylabel="acquired by step")
    axes.set_yscale(**step_scale(discoveries[0].trained.steps))
    axes.set_ylim(bottom=0, top=1.1 * max([*steps, 1]))
    _legend_below(axes)
    title(axes, letter, f"time against {label.split(' (')[0]}")


def map_panel(axes: Axes, found: Discovery, *, letter: str) -> None:
    """The share of each word's events in each support, the earliest quantum on top."""
    labels, by = shown_labels(found)
    words = list(dict.fromkeys(labels))
    order = np.lexsort((found.factors.layer, found.acquired))
    shares = event_map(found.factors.supports, labels, words)[order]
    image = axes.imshow(shares, aspect="auto", cmap=colormaps["cividis"], vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(words)), words, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(
        range(len(order)), [f"{found.names[index]}  {int(found.acquired[index]):,}" for index in order]
    )
    axes.tick_params(length=0)
    axes.set_ylabel("quantum and its step")
    bar = axes.figure.colorbar(image, ax=axes, pad=0.01)  # pyright: ignore[reportAttributeAccessIssue]
    bar.set_label("share of its events in the support")
    title(axes, letter, f"supports: which predictions each quantum helps, by {by}")


def shown_labels(found: Discovery) -> tuple[list[str], str]:
    """A label for every event, and its kind: the word, or its class if there are too many words."""
    words = [plain(word, LONGEST_WORD) for word in found.labels]
    if len(set(words)) <= MOST_WORDS:
        return words, "label"
    common = {word for word, _ in Counter(words).most_common(MOST_WORDS - 8)}
    shown = [
        word if word in common else f"other {token_class(label)}"
        for word, label in zip(words, found.labels, strict=True)
    ]
    return shown, "token or its class"


def map_height(quanta: int) -> float:
    """Height in inches for the names of `count` quanta."""
    return max(3.8, 1.2 + 0.17 * quanta)


def _legend_below(axes: Axes) -> None:
    """Add a legend that does not cover any data."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, handletextpad=0.4)


def _colour(layer: int) -> str:
    return LAYER_COLOURS[layer % len(LAYER_COLOURS)]
