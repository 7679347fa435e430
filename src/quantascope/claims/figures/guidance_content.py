"""Figure of the guidance-content claim."""

import numpy as np
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.guidance_content import ROWS
from quantascope.claims.guidance_real_data import PANELS
from quantascope.report.figures.style import BLUE, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Accuracy of every student on new words, each seed a point; regular words and exceptions apart."""
    figure, each = panels(len(PANELS), width=4.2, height=2.8)
    for letter, axes, (panel, says) in zip("ab", each, PANELS.items(), strict=True):
        for place, row in enumerate(ROWS):
            values = reproduction.result.figures[f"{panel}_{row}"].values
            axes.scatter(values, [place] * len(values), s=14, alpha=0.5, color=BLUE, linewidths=0)
            axes.plot([np.mean(values)] * 2, [place - 0.3, place + 0.3], color=BLUE, linewidth=1.8)
        axes.set_yticks(range(len(ROWS)), list(ROWS.values()) if letter == "a" else [""] * len(ROWS))
        axes.set(xlabel="words spelled exactly (%)", ylim=(len(ROWS) - 0.5, -0.5))
        axes.set_xlim(left=0)
        axes.grid(axis="x", linewidth=0.4)
        title(axes, letter, f"{says}; bar: mean")
    return figure
