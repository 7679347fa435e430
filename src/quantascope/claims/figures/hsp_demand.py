"""Figure of the hsp-demand claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.hsp_demand import HSPDemand
from quantascope.report.figures.style import BLUE, GREEN, ORANGE, panels, title
from quantascope.theory import (
    DepthClasses,
    exponent,
    parallel_classes,
    prescribed_classes,
    sequential_classes,
    terminal_mass,
)


def draw(reproduction: Reproduction) -> Figure:
    """Where queries end, and the loss that Q-dynamics predicts for these forests on both clocks."""
    config: HSPDemand = reproduction.config
    depth = config.depths[0]
    figure, (mass, loss) = panels(2, width=4.0, height=3.2)
    for offset, beta, colour in zip((-0.27, 0.0, 0.27), config.betas, (BLUE, ORANGE, GREEN), strict=True):
        alpha = exponent(config.branching, beta)
        at = np.arange(depth + 1) + offset
        mass.bar(
            at, terminal_mass(config.branching, beta, depth), width=0.25, color=colour, label=f"α = {alpha:.2f}"
        )
        classes = prescribed_classes(roots=config.roots, branching=config.branching, depth=depth, alpha=alpha)
        _losses(loss, classes, colour)
    mass.set(xlabel="depth of the queried node", ylabel="share of queries")
    mass.legend()
    title(mass, "a", f"queries end at the leaves of {config.roots} trees")
    loss.plot([], [], color="black", label="parallel clock")
    loss.plot([], [], color="black", linestyle=":", label="sequential clock")
    loss.set(xscale="log", xlabel="time (units of κ/p)", ylabel="unmet query probability", ylim=(0, 1.05))
    loss.legend(loc="lower left")
    title(loss, "b", "Q-dynamics of the same forests")
    return figure


def _losses(axes: Axes, classes: DepthClasses, colour: str) -> None:
    for run, dash in ((parallel_classes(classes), "-"), (sequential_classes(classes), ":")):
        times = np.geomspace(0.5 * run.first[0], 1.2 * run.last[-1], 400)
        axes.plot(times, run.loss(times), color=colour, linestyle=dash, linewidth=1.4)
