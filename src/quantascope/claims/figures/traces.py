"""Figure of the traces claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.traces import INPUTS, TracedFit, traced
from quantascope.report.figures.style import BLUE, GREY, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Open gates and active writers of the first fit, word by word, for each input."""
    figure, axes = panels(len(INPUTS), width=5.2, height=4.2)
    for letter, own, text in zip("ab", axes, INPUTS, strict=True):
        _grid(own, traced(reproduction.evidence, text)[0], letter)
    return figure


def _grid(axes: Axes, fit: TracedFit, letter: str) -> None:
    names, steps = fit.trace.quanta, fit.trace.steps
    for column, step in enumerate(steps):
        open_gates = {unit.name for unit in step.gates}
        for row, name in enumerate(names):
            writing = sum(unit.name.startswith(f"{name}.") for unit in step.writers)
            if name in open_gates:
                axes.scatter(column, row, s=150, color=BLUE, alpha=0.25 + 0.25 * writing, linewidths=0)
                axes.text(column, row, str(writing), ha="center", va="center", fontsize=7)
            else:
                axes.scatter(column, row, s=6, color=GREY, linewidths=0)
    axes.set_xticks(np.arange(len(steps)), [f"{step.token}\n({len(step.writers)})" for step in steps])
    axes.set_yticks(np.arange(len(names)), list(names))
    axes.set(xlim=(-0.6, len(steps) - 0.4), ylim=(len(names) - 0.5, -0.5), xlabel="word (active writers)")
    title(axes, letter, f"{fit.text}: open gates, and how many of their writers write")
