"""Figure of the guidance-data-efficiency claim."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from quantascope.claims.claim import Reproduction
from quantascope.claims.compiled_qmodel import PANELS
from quantascope.report.figures.style import BLUE, GREEN, VERMILLION, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Accuracy against the number of examples, one panel per evaluation."""
    counts = reproduction.config.examples
    figure, each = panels(len(PANELS), width=3.3)
    rows = {
        "ce": ("cross-entropy alone", VERMILLION, "s"),
        "guided": ("guided", BLUE, "o"),
        "qmodel": ("Q-model", GREEN, "^"),
    }
    for letter, axes, (panel, says) in zip("abc", each, PANELS.items(), strict=True):
        for row, (label, colour, marker) in rows.items():
            estimates = [reproduction.result.figures[f"{panel}_{row}_{count}"] for count in counts]
            means = [float(np.mean(estimate.values)) for estimate in estimates]
            axes.plot(counts, means, color=colour, marker=marker, markersize=4, linewidth=1.4, label=label)
            for count, estimate in zip(counts, estimates, strict=True):
                axes.scatter([count] * len(estimate.values), estimate.values, color=colour, s=8, alpha=0.4)
        axes.set(xscale="log", xlabel="training examples", ylabel="exact-sequence accuracy (%)", ylim=(-2, 102))
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.xaxis.set_minor_formatter(NullFormatter())
        title(axes, letter, says)
    each[0].legend(loc="lower right", title="mean and seeds", title_fontsize=8)
    return figure
