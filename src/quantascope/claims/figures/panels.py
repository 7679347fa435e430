"""Panels that several claims share: exponents, forecasts, and loss against acquired functions."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from quantascope.claims.forecasts import Forecasts
from quantascope.claims.result import Result
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, log_axes, title
from quantascope.scaling import compositional_order, direct_order, loss_after
from quantascope.tasks.hsp import Forest

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
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, handletextpad=0.3, columnspacing=1.0,
                markerscale=2)  # fmt: skip
    title(axes, letter, f"forecast of unseen {what}s")


def count_panel(axes: Axes, forests: Sequence[Forest], *, letter: str) -> None:
    """Add Q-dynamics of each level to a panel of loss against acquired functions, with axes and legend."""
    for place, (forest, (colour, _)) in enumerate(zip(forests, LEVEL_STYLES, strict=False)):
        counts = np.geomspace(1, 0.9 * len(forest.tasks), 200)
        for order, style, name in ((compositional_order, "-", "poset order"), (direct_order, ":", "direct order")):
            label = f"Q-dynamics, {name}" if place == 0 else None
            axes.plot(
                counts, loss_after(forest, order(forest), counts), style, color=colour, linewidth=1, label=label
            )
    log_axes(axes, x="steps", y="probability")
    axes.set(xlabel="acquired functions K", ylabel="held-out loss (bits)")
    legend = axes.legend(loc="lower left")
    for line in legend.get_lines():
        line.set_color(GREY)
    title(axes, letter, "loss against K, nothing fitted")


def _diagonal(axes: Axes, values: Float[np.ndarray, " values"]) -> None:
    if not np.isfinite(values).any():
        return
    low, high = np.nanmin(values) / 1.2, np.nanmax(values) * 1.2
    axes.plot([low, high], [low, high], color="black", linewidth=0.8, label="predicted = measured")
    axes.set(xlim=(low, high), ylim=(low, high))
