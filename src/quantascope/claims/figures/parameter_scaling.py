"""Figure of the parameter-scaling claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.demand_level import key_of
from quantascope.claims.figures.panels import LEVEL_STYLES, count_panel, exponent_panel
from quantascope.claims.width_sweep import Sweep, sweeps
from quantascope.report.figures.style import log_axes, panels, title
from quantascope.scaling import power_law_or_nothing

Levels = list[tuple[float, list[Sweep]]]


def draw(reproduction: Reproduction) -> Figure:
    """Loss against parameters, the slope over training, loss against K with its prediction, and the exponents."""
    config = reproduction.config
    levels = [(config.alpha(level), sweeps(config, reproduction.evidence, level)) for level in config.levels]
    figure, (law, drift, frontier, exponents) = panels(4, width=3.7, height=3.1)
    _law(law, levels)
    _drift(drift, levels)
    _frontier(frontier, levels)
    columns = {
        "target": "the\nlaw", "predicted": "finite\nsystem", "predicted_soft": "at soft\ncount",
        "fractional": "unmet\nshares", "exponent": "trained\nnets",
    }  # fmt: skip
    exponent_panel(exponents, reproduction.result, [key_of(alpha) for alpha, _ in levels], columns)
    title(exponents, "d", "law, prediction, networks")
    return figure


def _law(axes: Axes, levels: Levels) -> None:
    for (alpha, found), (colour, marker) in zip(levels, LEVEL_STYLES, strict=False):
        size, loss = found[0].parameters, np.array([s.selected(s.loss) for s in found])
        mean = np.exp(np.ma.masked_invalid(np.log(loss)).mean(0).filled(np.nan))  # of seeds that did not diverge
        fit = power_law_or_nothing(size, mean)
        for one in loss:
            axes.plot(size, one, marker, color=colour, markersize=3, alpha=0.5, markeredgewidth=0)
        axes.plot(size, fit(size), color=colour, label=f"α = {alpha:.3g}: slope {fit.exponent:.3f}")
        middle = np.exp(np.mean(np.log(size)))
        axes.plot(size, fit(np.array([middle])) * (size / middle) ** -alpha, "--", color=colour, linewidth=0.8)
    log_axes(axes, x="steps", y="probability")
    axes.set(xlabel="parameters P", ylabel="held-out loss (bits)")
    axes.legend(loc="lower left")
    title(axes, "a", "loss against parameters (dashed: α)")


def _drift(axes: Axes, levels: Levels) -> None:
    for (alpha, found), (colour, _) in zip(levels, LEVEL_STYLES, strict=False):
        steps = found[0].step[found[0].step >= found[0].config.window]
        slopes = np.array(
            [
                [power_law_or_nothing(s.parameters, s.at(s.loss, int(step))).exponent for step in steps]
                for s in found
            ]
        )
        slopes = slopes[np.isfinite(slopes).all(1)]
        if len(slopes):
            axes.plot(steps, slopes.mean(0), color=colour)
            axes.fill_between(steps, slopes.min(0), slopes.max(0), color=colour, alpha=0.2, linewidth=0)
        axes.axhline(alpha, color=colour, linestyle="--", linewidth=0.8)
    axes.set(xlabel="training step", ylabel="fitted exponent", ylim=(0, None))
    axes.ticklabel_format(axis="x", style="plain")
    axes.locator_params(axis="x", nbins=5)
    title(axes, "b", "the exponent drifts (dashed: α)")


def _frontier(axes: Axes, levels: Levels) -> None:
    for (_, found), (colour, marker) in zip(levels, LEVEL_STYLES, strict=False):
        for sweep in found:
            axes.plot(
                np.maximum(sweep.selected(sweep.count), 0.5), sweep.selected(sweep.loss), marker,
                color=colour, markersize=3, alpha=0.6, markeredgewidth=0,
            )  # fmt: skip
    count_panel(axes, [found[0].forest for _, found in levels], letter="c")
