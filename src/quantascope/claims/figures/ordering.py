"""Figure of the ordering claim."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Estimate
from quantascope.report.figures.discovery import time_panel
from quantascope.report.figures.style import BLUE, GREEN, ORANGE, panels, title

ORDERS = {
    "time_demand": "demand",
    "time_complexity": "complexity",
    "time_demand_over_complexity": "demand /\ncomplexity",
}
PACKETS = {
    "": ("factors", BLUE),
    "_random_sets": ("random sets", ORANGE),
    "_random_events": ("single events", GREEN),
}


def draw(reproduction: Reproduction) -> Figure:
    """Acquisition time against what should order it, of the factors at the finest threshold, and its nulls."""
    config, sources = reproduction.config, list(reproduction.evidence.values())
    found = [source.discovery("gradient", min(config.thresholds), starts=config.starts) for source in sources]
    demand = np.concatenate([one.factors.demand for one in found])
    complexity = np.concatenate([one.complexity for one in found])
    figure, axes = panels(4)
    properties = {
        "demand (share of events)": demand,
        "packet complexity (hidden units)": complexity,
        "demand / complexity": demand / complexity,
    }
    for letter, own, (label, values) in zip("abc", axes[:3], properties.items(), strict=True):
        time_panel(own, found, values, label, letter=letter)
    _beside_nulls(axes[3], reproduction.result.figures, f"{100 * min(config.thresholds):.0f}_percent")
    return figure


def _beside_nulls(axes: Axes, figures: Mapping[str, Estimate], at: str) -> None:
    """The rank correlation of each source with time, of its factors and of random packets, and their means."""
    for shift, (suffix, (label, colour)) in zip((-0.2, 0.0, 0.2), PACKETS.items(), strict=True):
        for place, name in enumerate(ORDERS):
            values = figures[key].values if (key := f"{name}_{at}{suffix}") in figures else ()
            axes.scatter([place + shift] * len(values), values, s=14, alpha=0.5, linewidths=0, color=colour)
            if values:
                axes.scatter([place + shift], [float(np.mean(values))], s=120, marker="_", color=colour)
        axes.scatter([], [], s=20, color=colour, label=label)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(ORDERS)), list(ORDERS.values()))
    axes.set(ylabel="rank correlation with time", ylim=(-1.05, 1.05), xlim=(-0.5, len(ORDERS) - 0.5))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, handletextpad=0.1, columnspacing=1.0)
    title(axes, "d", "beside nulls, gradient rule")
