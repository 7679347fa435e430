"""The figure that the claims about real data share."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Estimate
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, SKY, VERMILLION, title

Figures = Mapping[str, Estimate]


def draw(reproduction: Reproduction) -> Figure:
    """Completeness, names, rules and exceptions, order, recurrence and interventions: every seed and the mean."""
    figures, study = reproduction.result.figures, reproduction.config.study
    drawn = Figure(figsize=(12, 8))
    axes = drawn.subplots(2, 3).flatten()
    _spacings(axes[0], figures, study.spacings)
    _names(axes[1], figures)
    _rules(axes[2], figures)
    _order(axes[3], figures)
    _recurrence(axes[4], figures, study.contexts)
    _interventions(axes[5], figures)
    for letter, one, text in zip("abcdef", axes, _TITLES, strict=True):
        title(one, letter, text)
    return drawn


_TITLES = (
    "credit and quanta by number of intervals",
    "descriptions on held-out inputs",
    "half of the fall of the loss",
    "order of acquisition, beside nulls",
    "quanta that recur in the next seed",
    "effects in the source, as predicted",
)


def _spacings(axes: Axes, figures: Figures, spacings: Sequence[int]) -> None:
    for key, label, colour, line in (
        ("completeness_path", "ΣP/ΔL, path rule", BLUE, "-"),
        ("completeness_gradient", "ΣP/ΔL, gradient rule", VERMILLION, "-"),
        ("event_correlation_path", "by event, path rule", SKY, "--"),
        ("event_correlation_gradient", "by event, gradient rule", ORANGE, "--"),
        ("match", "supports like the finest (MCC)", GREEN, "-"),
    ):
        finest = max(spacings)
        compared = [count for count in spacings if key != "match" or count < finest]  # not with themselves
        known = [count for count in compared if f"{key}_{count}" in figures and figures[f"{key}_{count}"].values]
        means = [float(np.mean(figures[f"{key}_{count}"].values)) for count in known]
        axes.plot(known, means, color=colour, linestyle=line, marker="o", markersize=3, linewidth=1.2, label=label)
        for count in known:
            values = figures[f"{key}_{count}"].values
            axes.scatter([count] * len(values), values, color=colour, s=8, alpha=0.4, linewidths=0)
    if "match_next" in figures and figures["match_next"].values:
        other = float(np.mean(figures["match_next"].values))
        axes.axhline(other, color=GREEN, linestyle=":", linewidth=1.2, label="supports like the next seed's (MCC)")
    axes.set(xscale="log", xlabel="intervals", ylabel="share, correlation or MCC")
    axes.set_xticks(list(spacings), [str(count) for count in spacings])
    axes.set_ylim(min(-0.03, axes.get_ylim()[0]), max(1.05, axes.get_ylim()[1]))
    axes.minorticks_off()
    _legend_below(axes)


def _names(axes: Axes, figures: Figures) -> None:
    kinds = ("quanta", "gates", "writers")
    rows = (("f1", "description", BLUE), ("always", "always true", GREY), ("permuted", "permuted labels", ORANGE))
    for place, (key, label, colour) in enumerate(rows):
        keys = [f"{key}_{kind}" for kind in kinds]
        _columns(axes, figures, keys, shift=0.2 * (place - 1), colour=colour, label=label)
    axes.set_xticks(range(len(kinds)), kinds)
    axes.set(ylabel="median F1", ylim=(-0.03, 1.03))
    _legend_below(axes, columns=3)


def _rules(axes: Axes, figures: Figures) -> None:
    pairs = (("rules_half", "exceptions_half"), ("matched_rules_half", "matched_exceptions_half"))
    for row, label, colour in ((0, "given by the rule", BLUE), (1, "exceptions", VERMILLION)):
        keys = [pair[row] for pair in pairs]
        _columns(axes, figures, keys, shift=0.2 * (row - 0.5), colour=colour, label=label)
    axes.set_xticks(range(2), ["all", "of like context"])
    axes.set(ylabel="share of training (%)", xlim=(-0.5, 1.5))
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    _legend_below(axes)


def _order(axes: Axes, figures: Figures) -> None:
    suffixes = [key.removeprefix("time_demand") for key in figures if _is_order(key)]
    names = {"": "quanta", "_random": "random\nsets", "_loadings": "continuous\nloadings"}
    for place, (key, label, colour) in enumerate(
        (("time_demand", "time and demand", BLUE), ("time_complexity", "time and complexity", VERMILLION))
    ):
        keys = [key + suffix for suffix in suffixes]
        _columns(axes, figures, keys, shift=0.2 * (place - 0.5), colour=colour, label=label)
    labels = [names.get(one, one.removeprefix("_within_").replace("_", "\n")) for one in suffixes]
    axes.set_xticks(range(len(suffixes)), labels, fontsize=7)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(ylabel="rank correlation", ylim=(-1.05, 1.05))
    axes.set_yticks(np.linspace(-1, 1, 5))
    _legend_below(axes)


def _is_order(key: str) -> bool:
    return key.startswith("time_demand") and not key.startswith("time_demand_over")


def _recurrence(axes: Axes, figures: Figures, contexts: Sequence[Sequence[str]]) -> None:
    keys = ["chance", *("within_" + "_".join(one).replace(" ", "_") for one in contexts)]
    _columns(axes, figures, [f"recurring_{key}" for key in keys], colour=BLUE, label="quanta that recur")
    shared = [f"shared_{key}" if key != "chance" else "" for key in keys]
    _columns(axes, figures, shared, shift=0.2, colour=GREY, label="events that can be exchanged")
    axes.set_xticks(
        range(len(keys)),
        ["chance", *("\n".join(one).replace("second ", "second\n") for one in contexts)],
        fontsize=7,
    )
    axes.axhline(5, color="black", linestyle=":", linewidth=0.8, label="5 %, by chance")
    axes.set(xlabel="beyond", ylabel="share (%)", ylim=(-3, 103))
    _legend_below(axes)


def _interventions(axes: Axes, figures: Figures) -> None:
    kinds = ("message", "component", "random_direction", "random_events")
    for place, (key, label, colour) in enumerate(
        (("correlation", "all events", BLUE), ("within_writers", "within writers", GREEN))
    ):
        keys = [f"{key}_{kind}" for kind in kinds]
        _columns(axes, figures, keys, shift=0.2 * (place - 0.5), colour=colour, label=label)
    axes.set_xticks(range(len(kinds)), [kind.replace("_", "\n") for kind in kinds])
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(ylabel="correlation with the prediction", ylim=(-0.25, 1.05))
    _legend_below(axes)


def _legend_below(axes: Axes, *, columns: int = 2) -> None:
    """Add a legend below the labels of the axis, where it hides no data."""
    lines = max(label.get_text().count("\n") + 1 for label in axes.get_xticklabels())
    lower = 0.06 + 0.05 * lines + (0.08 if axes.get_xlabel() else 0.0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -lower), ncols=columns, handletextpad=0.4,
                columnspacing=1.0, fontsize=7.5)  # fmt: skip


def _columns(
    axes: Axes, figures: Figures, keys: Sequence[str], *, colour: str, label: str, shift: float = 0.0
) -> None:
    """The seeds of some figures as dots, and their means as bars."""
    for place, key in enumerate(keys):
        values = figures[key].values if key in figures else ()
        axes.scatter([place + shift] * len(values), values, s=10, alpha=0.5, linewidths=0, color=colour)
        if values:
            axes.scatter([place + shift], [float(np.mean(values))], s=90, marker="_", color=colour)
    axes.scatter([], [], s=20, color=colour, label=label)
