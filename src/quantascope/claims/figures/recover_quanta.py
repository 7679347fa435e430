"""Figure of the recover-quanta claim."""

from collections.abc import Mapping
from typing import get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.recover_quanta import MeasuredSource, RecoverQuanta
from quantascope.claims.result import Estimate
from quantascope.discovery import Rule
from quantascope.report.figures.discovery import acquisition_panel, map_height, map_panel
from quantascope.report.figures.style import BLUE, ORANGE, title


def draw(reproduction: Reproduction) -> Figure:
    """Curves of the first source under both rules, what each accounts for, the null, and the map of supports."""
    config, evidence = reproduction.config, reproduction.evidence
    first = next(iter(evidence.values()))
    by_rule = {
        rule: first.discovery(rule, config.threshold, config.panel, config.starts) for rule in get_args(Rule)
    }
    heights = (3.7, map_height(len(by_rule["path"].factors)))
    figure = Figure(figsize=(13, sum(heights)))
    grid = figure.add_gridspec(2, 4, height_ratios=heights)
    for column, rule in enumerate(("gradient", "path")):
        acquisition_panel(figure.add_subplot(grid[0, column]), by_rule[rule], letter="ab"[column])
    _completeness(figure.add_subplot(grid[0, 2]), config, evidence)
    _discreteness(figure.add_subplot(grid[0, 3]), reproduction.result.figures)
    map_panel(figure.add_subplot(grid[1, :]), by_rule["path"], letter="e")
    return figure


def _completeness(axes: Axes, config: RecoverQuanta, evidence: Mapping[str, MeasuredSource]) -> None:
    kinds = {
        f"SGD at {config.source.optimizer.learning_rate:g}": "seed",
        "Adam at the edge\nof stability": "unstable",
    }
    rules: tuple[tuple[Rule, str, float], ...] = (("gradient", ORANGE, -0.12), ("path", BLUE, 0.12))
    for rule, colour, shift in rules:
        for place, label in enumerate(kinds.values()):
            ratios = [
                source.field(rule).completeness for name, source in evidence.items() if name.startswith(label)
            ]
            axes.scatter(
                [place + shift] * len(ratios),
                ratios,
                color=colour,
                s=24,
                alpha=0.8,
                linewidths=0,
                label=f"{rule} rule" if place == 0 else None,
            )
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(range(len(kinds)), list(kinds))
    axes.set(xlim=(-0.5, len(kinds) - 0.5), ylabel="credit / true fall of the loss")
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.legend(loc="best", handletextpad=0.2)
    title(axes, "c", "completeness of the field")


def _discreteness(axes: Axes, figures: Mapping[str, Estimate]) -> None:
    """How much more is explained of each source than of its surrogate, and of the surrogate than of its own."""
    kinds = {"source over\nits surrogate": "_beyond_loadings", "surrogate over\nits own surrogate": "_control"}
    for suffix, colour, shift in (("", ORANGE, -0.12), ("_path", BLUE, 0.12)):
        for place, kind in enumerate(kinds.values()):
            more = figures[f"corrective_as_many_explained{kind}{suffix}"].values
            axes.scatter([place + shift] * len(more), more, color=colour, s=24, alpha=0.8, linewidths=0)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(kinds)), list(kinds))
    axes.set(xlim=(-0.5, len(kinds) - 0.5), ylabel="SSE explained by as many factors (points)")
    title(axes, "d", "binary beyond continuous?")
