"""Figure of the composed-staircase claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.composed_staircase import Staircase
from quantascope.claims.figures.panels import forecast_panel
from quantascope.claims.forecasts import forecast_modes
from quantascope.report.figures.style import BLUE, GREY, ORANGE, VERMILLION, panels, title
from quantascope.theory import conditional_losses, nand_path, staircase


def draw(reproduction: Reproduction) -> Figure:
    """One task on its staircase, the plateaus of all tasks, and the forecast of the modes."""
    stairs = [Staircase(run, reproduction.config.definitions) for run in reproduction.evidence.values()]
    figure, (curve, plateaus, forecast) = panels(3)
    _curve(curve, stairs[0])
    _plateaus(plateaus, stairs)
    forecast_panel(forecast, [forecast_modes(s.curves.forest, s.modes) for s in stairs], letter="c", what="mode")
    return figure


def _curve(axes: Axes, stairs: Staircase) -> None:
    run, chosen = stairs.curves, stairs.highlighted
    step = run.history.step
    axes.plot(step, np.delete(run.task_loss, chosen, axis=1), color=GREY, linewidth=0.4, alpha=0.6)
    axes.plot([], [], color=GREY, linewidth=0.8, label="other tasks")
    axes.plot(step, run.loss, color=VERMILLION, linewidth=1.8, label="weighted mean")
    axes.plot(step, run.task_loss[:, chosen], color=BLUE, linewidth=1.5, label="highlighted task")
    axes.plot(step, _predicted(stairs), color="black", linewidth=1, linestyle="-.", label="its Q-dynamics")
    axes.axhline(0.5, color="black", linewidth=0.8, linestyle=":", label="1/2 bit")
    for crossing in (stairs.private[chosen], stairs.shared_crossing):
        axes.axvline(crossing, color=BLUE, linewidth=0.8, linestyle="--")
    axes.plot([], [], color=BLUE, linewidth=0.8, linestyle="--", label="80 % of a mode")
    axes.set(xlabel="training step", ylabel="held-out loss (bits)", ylim=(0, 1.35), xlim=(0, step[-1]))
    axes.locator_params(axis="x", nbins=4)
    axes.legend(loc="upper right")
    title(axes, "a", "one task on its staircase, one run")


def _predicted(stairs: Staircase) -> np.ndarray:
    """The staircase that the simulator predicts for the highlighted task."""
    forest, modes = stairs.curves.forest, forecast_modes(stairs.curves.forest, stairs.modes).conditional.step
    path = forest.path(int(forest.tasks[stairs.highlighted]))
    times = np.where(np.isnan(modes[path]), np.inf, modes[path])
    return np.asarray(staircase(conditional_losses(nand_path(1), arity=2), times, stairs.curves.history.step))


def _plateaus(axes: Axes, stairs: list[Staircase]) -> None:
    for index, one in enumerate(stairs):
        values = one.plateau[np.isfinite(one.plateau)]
        jitter = np.random.default_rng(index).uniform(-0.15, 0.15, len(values))
        axes.scatter(index + jitter, values, s=8, color=GREY, linewidths=0)
        axes.scatter(index, one.plateau[one.highlighted], s=30, color=BLUE, zorder=3)
        if values.size == 0:
            continue
        axes.hlines(np.median(values), index - 0.3, index + 0.3, color=ORANGE, linewidth=2)
    axes.axhline(0.5, color="black", linewidth=0.8, linestyle=":")
    axes.scatter([], [], s=8, color=GREY, label="task")
    axes.scatter([], [], s=30, color=BLUE, label="highlighted task")
    axes.plot([], [], color=ORANGE, linewidth=2, label="median of tasks")
    axes.set(xlabel="run", ylabel="loss between crossings (bits)", xticks=range(len(stairs)), ylim=(0, 1))
    axes.legend(loc="upper right")
    title(axes, "b", "the pause of every task")
