"""Figure of the flat-acquisition claim."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from quantascope.acquisition import fit_clock, reconstructed_loss
from quantascope.acquisition.learner import LearningCurves
from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.panels import forecast_panel
from quantascope.claims.forecasts import Forecasts, forecast_tasks
from quantascope.report.figures.style import VERMILLION, log_axes, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Sharp tasks under a smooth aggregate, the clock, and the forecast, the first two of the displayed run."""
    runs = list(reproduction.evidence.values())
    forecasts = [forecast_tasks(run) for run in runs]
    figure, (losses, clock, forecast) = panels(3)
    _losses(losses, runs[0], forecasts[0])
    _clock(clock, runs[0])
    forecast_panel(forecast, forecasts, letter="c")
    return figure


def _losses(axes: Axes, run: LearningCurves, predicted: Forecasts) -> None:
    step, frequency = run.history.step, run.forest.task_probability
    scale = LogNorm(frequency.min(), frequency.max())
    for task in np.argsort(frequency):
        axes.plot(
            step,
            run.task_loss[:, task],
            color=colormaps["cividis"](scale(frequency[task])),
            linewidth=0.5,
            alpha=0.7,
        )
    axes.plot(step, run.loss, color=VERMILLION, linewidth=2.2, label="weighted mean")
    rebuilt = reconstructed_loss(run.forest, predicted.conditional.step, step, closed=False)
    axes.plot(step, rebuilt, color="black", linewidth=1.2, linestyle=":", label="Q-dynamics")
    axes.set(xlabel="training step", ylabel="held-out loss (bits)", ylim=(0, 1.35), xlim=(0, step[-1]))
    axes.locator_params(axis="x", nbins=4)
    axes.legend(loc="upper right")
    colours = ScalarMappable(norm=scale, cmap="cividis")
    axes.figure.colorbar(colours, ax=axes, label="task frequency", pad=0.02)  # pyright: ignore[reportAttributeAccessIssue]
    title(axes, "a", f"{len(frequency)} tasks, one run")


def _clock(axes: Axes, run: LearningCurves) -> None:
    frequency, step = run.forest.task_probability, run.times.step
    fit = fit_clock(step, frequency)
    axes.scatter(frequency, step, s=12, c=frequency, cmap="cividis", norm="log")
    log_axes(axes, x="probability", y="steps")
    axes.set(xlabel="task frequency π", ylabel="acquisition step T")
    title(axes, "b", "demand is a clock, the same run")
    if np.isnan(fit.gamma):
        return
    seen = np.isfinite(step)
    offset = np.mean(np.log(step[seen]) + fit.gamma * np.log(frequency[seen]))
    line = np.geomspace(frequency.min(), frequency.max(), 2)
    axes.plot(line, np.exp(offset) * line**-fit.gamma, color="black", linewidth=1)
    axes.text(
        0.97,
        0.95,
        f"$T\\propto\\pi^{{-{fit.gamma:.2f}}}$\n$R^2={fit.r2:.2f}$",
        transform=axes.transAxes,
        ha="right",
        va="top",
    )
