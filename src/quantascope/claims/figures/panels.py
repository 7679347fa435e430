"""Panels that several claims share: exponents side by side, forecasts against measurements."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from quantascope.claims.forecasts import Forecasts
from quantascope.claims.result import Result
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, log_axes, title

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
    """Predicted against measured acquisition steps, demand alone and demand over κ."""
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
    axes.set(xlabel="predicted acquisition step", ylabel="measured acquisition step")
    axes.legend(loc="best", handletextpad=0.5)
    title(axes, letter, f"forecast of unseen {what}s")


def _diagonal(axes: Axes, values: Float[np.ndarray, " values"]) -> None:
    if not np.isfinite(values).any():
        return
    low, high = np.nanmin(values) / 1.2, np.nanmax(values) * 1.2
    axes.plot([low, high], [low, high], color="black", linewidth=0.8, label="predicted = measured")
    axes.set(xlim=(low, high), ylim=(low, high))
