"""How figures look: one palette that survives colour-blindness and print, and the panels that claims share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from quantascope.experiments import Result
from quantascope.experiments.forecasts import Forecasts

# Okabe and Ito's palette.
VERMILLION, BLUE, GREEN, SKY, ORANGE, PURPLE, GREY = (
    "#D55E00", "#0072B2", "#009E73", "#56B4E9", "#E69F00", "#CC79A7", "#999999",
)  # fmt: skip

_SETTINGS: Any = {
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.07,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "quantascope",
    "svg.fonttype": "none",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn inside looks alike."""
    with mpl.rc_context(_SETTINGS):
        yield


def panels(count: int, *, width: float = 3.5, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """A row of panels."""
    figure = Figure(figsize=(width * count, height))
    return figure, [figure.add_subplot(1, count, index + 1) for index in range(count)]


def title(axes: Axes, letter: str, text: str) -> None:
    """A panel's letter and what it shows."""
    axes.set_title(f"$\\bf{{({letter})}}$ {text}")


Quantity = Literal["steps", "probability"]


def log_axes(axes: Axes, *, x: Quantity, y: Quantity) -> None:
    """Logarithmic axes with few, plain labels, for what was plotted before."""
    axes.set(xscale="log", yscale="log")
    for axis, quantity in ((axes.xaxis, x), (axes.yaxis, y)):
        form = "{:,.0f}" if quantity == "steps" else "{:g}"
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _, form=form: form.format(value)))
        axis.set_minor_formatter(NullFormatter())
        if not np.isfinite(axis.get_data_interval()).all():
            axis.set_view_interval(1, 10, ignore=True)  # nothing was acquired: an empty panel


LEVEL_STYLES = ((BLUE, "o"), (VERMILLION, "s"), (GREEN, "^"), (PURPLE, "D"), (ORANGE, "v"))
"""Colour and marker of each demand exponent, in the order of a claim."""


def exponent_panel(axes: Axes, result: Result, levels: Sequence[str], columns: Mapping[str, str]) -> None:
    """Exponents of each level side by side, with their intervals over seeds; `columns` maps figures to labels."""
    for row, level in enumerate(levels):
        colour, marker = LEVEL_STYLES[row % len(LEVEL_STYLES)]
        offset = 0.16 * (row - (len(levels) - 1) / 2)
        for place, figure in enumerate(columns):
            estimate = result.figures[f"{figure}_{level}"]
            if estimate.mean is None:
                continue
            low = estimate.mean if estimate.low is None else estimate.low
            high = estimate.mean if estimate.high is None else estimate.high
            reach = [[estimate.mean - low], [high - estimate.mean]]
            label = f"α = {level.replace('_', '.')}" if place == 0 else None
            axes.errorbar(
                place + offset,
                estimate.mean,
                yerr=reach,
                color=colour,
                marker=marker,
                capsize=2,
                lw=1,
                label=label,
            )
    axes.set_xticks(range(len(columns)), list(columns.values()), fontsize=7)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylabel="exponent")
    axes.legend(loc="best", handletextpad=0.3)


def forecast_panel(axes: Axes, forecasts: Sequence[Forecasts], *, letter: str, what: str = "task") -> None:
    """Foretold against measured acquisition steps, demand alone and demand over κ."""
    measured = np.concatenate([f.measured for f in forecasts])
    demand = np.concatenate([f.demand.step for f in forecasts])
    conditional = np.concatenate([f.conditional.step for f in forecasts])
    size = 10 if len(measured) < 200 else 5
    axes.scatter(
        demand, measured, s=size, edgecolors=GREY, facecolors="none", linewidths=0.5, label="demand alone"
    )
    axes.scatter(conditional, measured, s=size, color=BLUE, alpha=0.6, linewidths=0, label="demand / complexity")
    _diagonal(axes, np.concatenate([measured, demand, conditional]))
    log_axes(axes, x="steps", y="steps")
    axes.set(xlabel="foretold acquisition step", ylabel="measured acquisition step")
    axes.legend(loc="best", handletextpad=0.5)
    title(axes, letter, f"forecast of unseen {what}s")


def _diagonal(axes: Axes, values: Float[np.ndarray, " values"]) -> None:
    if not np.isfinite(values).any():
        return
    low, high = np.nanmin(values) / 1.2, np.nanmax(values) * 1.2
    axes.plot([low, high], [low, high], color="black", linewidth=0.8, label="foretold = measured")
    axes.set(xlim=(low, high), ylim=(low, high))
