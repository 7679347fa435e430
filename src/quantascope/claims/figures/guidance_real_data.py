"""Figure of the guidance-real-data claim."""

import numpy as np
from matplotlib.figure import Figure

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
APART = 1.08
"""Factor by which the rows of one number of words are moved apart."""


def draw(reproduction: Reproduction) -> Figure:
    """Accuracy on new words against the number of training words, regular words and exceptions apart.

    Rows stand side by side at each number: every seed as a dot, the mean, and its interval over seeds.
    """
    counts = np.array(reproduction.config.examples)
    figure, each = panels(len(PANELS), width=5.2, height=3.9)
    for letter, axes, (panel, says) in zip("ab", each, PANELS.items(), strict=True):
        for place, (row, label) in enumerate(ROWS.items()):
            colour, marker = MARKS[row]
            at = counts * APART ** (place - (len(ROWS) - 1) / 2)
            estimates = [reproduction.result.figures[f"{panel}_{row}_{count}"] for count in counts]
            means = np.array([float(np.mean(estimate.values)) for estimate in estimates])
            low = [mean if one.low is None else one.low for one, mean in zip(estimates, means, strict=True)]
            high = [mean if one.high is None else one.high for one, mean in zip(estimates, means, strict=True)]
            axes.errorbar(at, means, yerr=[means - low, high - means], color=colour, marker=marker, markersize=5,
                          linewidth=0.8, elinewidth=1, capsize=2, label=label)  # fmt: skip
            for place_, estimate in zip(at, estimates, strict=True):
                axes.scatter([place_] * len(estimate.values), estimate.values, facecolors="white",
                             edgecolors=colour, s=16, linewidths=0.9, zorder=3)  # fmt: skip
        axes.set(xscale="log", xlabel="training words", ylabel="words spelled exactly (%)")
        axes.set_ylim(bottom=-2, top=min(axes.get_ylim()[1], 102))
        axes.set_xticks(counts, [f"{count:,}" for count in counts])
        axes.minorticks_off()
        title(axes, letter, says)
    figure.legend(*each[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  title="mean, 95 % interval over seeds, and every seed (open)", title_fontsize=8)  # fmt: skip
    return figure
