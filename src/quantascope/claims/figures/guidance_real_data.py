"""Figure of the guidance-real-data claim."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from quantascope.claims.claim import Reproduction
from quantascope.claims.guidance_real_data import PANELS, ROWS
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, VERMILLION, panels, title

MARKS = {
    "ce": (VERMILLION, "s"),
    "guided": (BLUE, "o"),
    "only_right": (GREEN, "^"),
    "incomplete": (ORANGE, "D"),
    "wrong": (GREY, "v"),
}


def draw(reproduction: Reproduction) -> Figure:
    """Accuracy on new words against the number of training words, regular words and exceptions apart."""
    counts = reproduction.config.examples
    figure, each = panels(len(PANELS), width=4.2, height=3.2)
    for letter, axes, (panel, says) in zip("ab", each, PANELS.items(), strict=True):
        for row, label in ROWS.items():
            colour, marker = MARKS[row]
            estimates = [reproduction.result.figures[f"{panel}_{row}_{count}"] for count in counts]
            means = [float(np.mean(estimate.values)) for estimate in estimates]
            axes.plot(counts, means, color=colour, marker=marker, markersize=4, linewidth=1.4, label=label)
            for count, estimate in zip(counts, estimates, strict=True):
                axes.scatter([count] * len(estimate.values), estimate.values, color=colour, s=8, alpha=0.4)
        axes.set(xscale="log", xlabel="training words", ylabel="words spelled exactly (%)")
        axes.set_ylim(bottom=-2)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.xaxis.set_minor_formatter(NullFormatter())
        title(axes, letter, says)
    each[0].legend(loc="best", title="mean and seeds", title_fontsize=8)
    return figure
