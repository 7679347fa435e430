"""Figure of the guidance-reliability claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, VERMILLION, panels, title

COLOURS = {"english": BLUE, "french": VERMILLION, "addition": GREEN, "roman": ORANGE, "clock": GREY}
MARKERS = {"english": "o", "french": "s", "addition": "^", "roman": "D", "clock": "v"}


def draw(reproduction: Reproduction) -> Figure:
    """What guidance gains each student, and how far Q-models of one program are apart."""
    figure, (gains, spread) = panels(2, width=4.6, height=3.2)
    _gains(gains, reproduction)
    _spread(spread, reproduction)
    return figure


def _gains(axes: Axes, reproduction: Reproduction) -> None:
    config, found = reproduction.config, reproduction.result.figures
    for place, program in enumerate(config.programs):
        for index, count in enumerate(config.examples):
            x = index + (place - (len(config.programs) - 1) / 2) * 0.15
            gain = found[f"{program}_{count}_gain"]
            colour, marker = COLOURS.get(program, GREY), MARKERS.get(program, "o")
            seeds = [x] * len(gain.values)
            axes.scatter(seeds, gain.values, s=9, alpha=0.45, linewidths=0, color=colour, marker=marker)
            mean, label = float(np.mean(gain.values)), None if index else program
            axes.scatter([x], [mean], s=26, color=colour, marker=marker, label=label)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(config.examples)), [f"{count}" for count in config.examples])
    axes.set(xlabel="training examples", ylabel="gain by guidance (points)")
    axes.legend(loc="upper right", title="mean and seeds", title_fontsize=8)
    title(axes, "a", "every student beside itself without guidance")


def _spread(axes: Axes, reproduction: Reproduction) -> None:
    config, found = reproduction.config, reproduction.result.figures
    for place, program in enumerate(config.programs):
        for form, shift, colour, label in (
            ("paper", -0.15, VERMILLION, "the paper's form"),
            ("qmodel", 0.15, BLUE, "our form"),
        ):
            exact = found[f"{program}_teachers_{form}"].values
            x = place + shift
            axes.scatter([x] * len(exact), exact, s=12, alpha=0.5, linewidths=0, color=colour)
            mean = float(np.mean(exact))
            axes.scatter([x], [mean], s=60, marker="_", color=colour, label=None if place else label)
    axes.set_xticks(range(len(config.programs)), config.programs)
    axes.set(ylabel="exact-sequence accuracy (%)", ylim=(-2, 102))
    axes.legend(loc="lower left", title="mean and seeds", title_fontsize=8)
    title(axes, "b", f"Q-models of {max(config.examples)} examples")
