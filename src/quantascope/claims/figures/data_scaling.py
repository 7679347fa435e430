"""Figure of the data-scaling claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.data_scaling import DataTrajectory, trajectories
from quantascope.claims.demand_level import key_of
from quantascope.claims.figures.panels import LEVEL_STYLES, count_panel, exponent_panel
from quantascope.report.figures.style import log_axes, panels, title
from quantascope.theory import data_exponent

Levels = list[tuple[float, list[DataTrajectory]]]


def draw(reproduction: Reproduction) -> Figure:
    """Loss against examples, loss against K with its prediction, and the exponents of the windows."""
    config = reproduction.config
    levels = [(config.alpha(beta), trajectories(config, reproduction.evidence, beta)) for beta in config.betas]
    figure, (law, frontier, exponents) = panels(3, width=4.0, height=3.2)
    _law(law, levels)
    _frontier(frontier, levels)
    columns = {
        "target": "law:\nα/(1+α)", "predicted": "finite\nsystem", "fractional": "unmet\nshares",
        "exponent": "measured", "earlier_slope": "earlier\nhalf", "later_slope": "later\nhalf",
    }  # fmt: skip
    exponent_panel(exponents, reproduction.result, [key_of(alpha) for alpha, _ in levels], columns)
    title(exponents, "c", "law, prediction, networks, halves")
    return figure


def _law(axes: Axes, levels: Levels) -> None:
    for (alpha, found), (colour, _) in zip(levels, LEVEL_STYLES, strict=False):
        first = next((one for one in found if one.learned), None)
        for one in found:
            seen = one.curves.step > 0
            axes.plot(one.examples[seen], one.loss[seen], color=colour, linewidth=0.6, alpha=0.5)
            if one is first:
                x, fit = one.examples[one.window.rows], one.fit(one.window)
                axes.plot(
                    x, fit(x), color=colour, linewidth=1.6, label=f"α = {alpha:.3g}: slope {fit.exponent:.3f}"
                )
                middle = np.sqrt(x[0] * x[-1])
                target = fit(np.array([middle])) * (x / middle) ** -data_exponent(alpha)
                axes.plot(x, target, "--", color=colour, linewidth=0.8)
    log_axes(axes, x="steps", y="probability")
    axes.set(xlabel="examples D", ylabel="held-out loss (bits)")
    axes.tick_params(axis="x", labelrotation=25)
    axes.legend(loc="lower left", title="fit of one seed")
    title(axes, "a", "loss against examples (dashed: the law)")


def _frontier(axes: Axes, levels: Levels) -> None:
    for (_, found), (colour, _) in zip(levels, LEVEL_STYLES, strict=False):
        for one in found:
            axes.plot(np.maximum(one.count, 0.5), one.loss, ".", color=colour, markersize=3, alpha=0.4)
    count_panel(axes, [found[0].curves.forest for _, found in levels], letter="b")
