"""Figure of the child-parent-order claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.acquisition import reconstructed_loss
from quantascope.acquisition.learner import LearningCurves
from quantascope.claims.child_parent_order import ChildParentOrder, child_first_share, of_ratio
from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.panels import forecast_panel
from quantascope.claims.forecasts import forecast_tasks
from quantascope.report.figures.style import BLUE, GREEN, VERMILLION, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Loss and both reconstructions at every ratio, and the forecast over all runs."""
    config: ChildParentOrder = reproduction.config
    figure, axes = panels(len(config.ratios) + 1, width=3.2)
    for index, ratio in enumerate(config.ratios):
        _losses(
            axes[index],
            of_ratio(reproduction.evidence, ratio),
            ratio,
            "abcdefgh"[index],
            config.error_through,
        )
    forecasts = [forecast_tasks(run) for run in reproduction.evidence.values()]
    forecast_panel(axes[-1], forecasts, letter="abcdefgh"[len(config.ratios)], what="function")
    return figure


def _losses(axes: Axes, runs: list[LearningCurves], ratio: float, letter: str, through: int) -> None:
    step = runs[0].history.step
    curves = {
        "network": (VERMILLION, "-", [run.loss for run in runs]),
        "direct tasks": (
            BLUE,
            "--",
            [reconstructed_loss(r.forest, r.times.step, step, closed=False) for r in runs],
        ),
        "ancestor-closed": (
            GREEN,
            ":",
            [reconstructed_loss(r.forest, r.times.step, step, closed=True) for r in runs],
        ),
    }
    predicted = [
        reconstructed_loss(r.forest, forecast_tasks(r).conditional.step, step, closed=False) for r in runs
    ]
    axes.plot(step, np.median(predicted, axis=0), color="black", linewidth=1, linestyle="-.", label="Q-dynamics")
    for label, (colour, dash, values) in curves.items():
        stacked = np.stack(values)
        axes.fill_between(step, stacked.min(0), stacked.max(0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(step, np.median(stacked, axis=0), color=colour, linestyle=dash, linewidth=1.6, label=label)
    axes.set(
        xlabel="training step",
        ylabel="weighted loss (bits)",
        ylim=(0, 1.45),
        xlim=(0, min(step[-1], 1.5 * through)),
    )
    if letter == "a":
        axes.legend(loc="upper right", title="median and range of runs", title_fontsize=8)
    share = 100 * np.mean([child_first_share(run) for run in runs])
    title(axes, letter, f"frequency ratio {ratio:g}: {share:.0f} % children first")
