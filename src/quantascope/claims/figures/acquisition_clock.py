"""Figure of the acquisition-clock claim."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.acquisition import ClockFit, fit_clock
from quantascope.acquisition.learner import LearningCurves
from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.panels import forecast_panel
from quantascope.claims.forecasts import forecast_tasks
from quantascope.report.figures.style import log_axes, panels, title

_MARKERS = "osD^v<>P"


def draw(reproduction: Reproduction) -> Figure:
    """Acquisition step against frequency by depth, the cost of a level, and the forecast."""
    runs = list(reproduction.evidence.values())
    figure, (clock, forecast) = panels(2, width=4.0, height=3.2)
    _clock(clock, runs)
    forecast_panel(forecast, [forecast_tasks(run) for run in runs], letter="b", what="function")
    return figure


def _clock(axes: Axes, runs: list[LearningCurves]) -> None:
    frequency = np.concatenate([run.forest.task_probability for run in runs])
    step = np.concatenate([run.times.step for run in runs])
    depth = np.concatenate([run.forest.depth for run in runs])
    colours = {level: colormaps["viridis"](0.75 * level / max(1, depth.max())) for level in np.unique(depth)}
    for level, colour in colours.items():
        at, marker = depth == level, _MARKERS[level % len(_MARKERS)]
        label = f"depth {level}"
        axes.scatter(
            frequency[at], step[at], s=14, marker=marker, color=colour, alpha=0.7, linewidths=0, label=label
        )
    log_axes(axes, x="probability", y="steps")
    axes.set(xlabel="query frequency π", ylabel="acquisition step T")
    axes.legend(loc="lower left", handletextpad=0.1)
    title(axes, "a", f"frequency and depth, {len(runs)} runs together")
    fit = fit_clock(step, frequency, depth)
    if np.isfinite(fit.gamma):
        _lines(axes, fit, frequency, step, depth, colours)


def _lines(
    axes: Axes, fit: ClockFit, frequency: np.ndarray, step: np.ndarray, depth: np.ndarray, colours: dict
) -> None:
    """The fitted clock at each depth."""
    seen, cost = np.isfinite(step), np.log(fit.cost_per_level)
    offset = np.mean(np.log(step[seen]) + fit.gamma * np.log(frequency[seen]) - cost * depth[seen])
    ends = np.geomspace(frequency.min(), frequency.max(), 2)
    for level, colour in colours.items():
        axes.plot(ends, np.exp(offset + cost * level) * ends**-fit.gamma, color=colour, linewidth=1)
    law = f"$T\\propto\\pi^{{-{fit.gamma:.2f}}}\\times{fit.cost_per_level:.2f}^\\mathrm{{depth}}$"
    axes.text(0.97, 0.96, law, transform=axes.transAxes, ha="right", va="top")
