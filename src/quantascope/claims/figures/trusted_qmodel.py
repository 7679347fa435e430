"""Figure of the trusted-qmodel claim: every aim, and where each source stands."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Estimate
from quantascope.claims.trusted_qmodel import AIMS
from quantascope.report.figures.style import BLUE, panels, title

ROWS = {
    "agreement": "agreement",
    "agreement_right": "where the\nsource is right",
    "decided_lowest": "at the worst\ncheckpoint, decided",
    "parameter_share": "parameters\n(% of the source's)",
}
SHARES = {
    "edge_agreement": "channels shared\nby refits",
    "correlation_quanta": "effects of quanta,\nr with the source",
    "correlation_writers": "effects of writers,\nr with the source",
}
CONTROLS = {
    "x": (
        "by chance, random direction",
        ("edge_chance", "correlation_quanta_random", "correlation_writers_random"),
    ),
    "+": ("before the fit", (None, "correlation_quanta_unfitted", "correlation_writers_unfitted")),
}


def draw(reproduction: Reproduction) -> Figure:
    """Percentages, shares with their controls, and active writers; each source a point."""
    figures = reproduction.result.figures
    figure, (percent, share, writers) = panels(3, width=4.0, height=3.2)
    for place, key in enumerate(ROWS):
        _row(percent, place, figures[key], AIMS[key])
    _finish(percent, ROWS, "%")
    for place, key in enumerate(SHARES):
        _row(share, place, figures[key], AIMS[key])
    for marker, (label, keys) in CONTROLS.items():
        shown = [(value, place + 0.2) for place, key in enumerate(keys) if key for value in figures[key].values]
        share.scatter(*zip(*shown, strict=True), marker=marker, s=18, color="black", linewidths=0.7, label=label)
    _finish(share, SHARES, "Jaccard index, correlation")
    share.set_ylim(len(SHARES) - 0.5, -1)  # room for the legend
    share.legend(loc="upper left")
    _row(writers, 0, figures["active_writers"], AIMS["active_writers"])
    active = figures["active_quanta"].values
    writers.scatter(active, [1] * len(active), s=22, color=BLUE, alpha=0.7, linewidths=0)
    _finish(writers, {"active_writers": "active writers", "active_quanta": "active quanta"}, "per event")
    for letter, axes, text in (
        ("a", percent, "each source a point; the bar is the aim"),
        ("b", share, "what recurs, and what the source confirms"),
        ("c", writers, "units at work"),
    ):
        title(axes, letter, text)
    return figure


def _row(axes: Axes, place: int, found: Estimate, aim: float) -> None:
    axes.scatter(found.values, [place] * len(found.values), s=22, color=BLUE, alpha=0.7, linewidths=0)
    axes.plot([aim, aim], [place - 0.35, place + 0.35], color="black", linewidth=1.2)


def _finish(axes: Axes, rows: dict[str, str], unit: str) -> None:
    axes.set_yticks(range(len(rows)), list(rows.values()))
    axes.set(xlabel=unit, ylim=(len(rows) - 0.5, -0.5))
    axes.grid(axis="x", linewidth=0.4)
