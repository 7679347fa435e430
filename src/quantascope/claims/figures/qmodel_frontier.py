"""Figure of the qmodel-frontier claim."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Result
from quantascope.report.figures.style import BLUE, VERMILLION, panels, title

COSTS = (
    ("active_writers", "active writers per event", 0.5),
    ("parameter_share", "parameters (% of the source's)", 2.0),
    ("gate_f1", "F1 of gates with held-out supports", 0.03),
)
"""What agreement is drawn against, and the distance from the base from which a variation is labelled."""


def draw(reproduction: Reproduction) -> Figure:
    """Agreement of each variation, then against active writers, parameters and fidelity of the gates."""
    figure, (rows, *costs) = panels(4, width=4.2, height=3.8)
    result, names = reproduction.result, list(reproduction.config.variations)
    _rows(rows, result, names)
    for axes, letter, (key, label, apart) in zip(costs, "bcd", COSTS, strict=True):
        _points(axes, result, names, key, apart)
        axes.set(xlabel=label, ylabel="agreement (%)")
        title(axes, letter, "those far from the base are named")
    return figure


def _value(result: Result, key: str, name: str) -> float:
    found = result.figures[f"{key}_{name}"].mean
    return float("nan") if found is None else found


def _rows(axes: Axes, result: Result, names: list[str]) -> None:
    ordered = sorted(names, key=lambda name: _value(result, "agreement", name))
    for row, name in enumerate(ordered):
        axes.scatter([_value(result, "agreement", name)], [row], s=26, color=_colour(name), linewidths=0)
    axes.set_yticks(range(len(ordered)), [name.replace("_", " ") for name in ordered])
    axes.set(xlabel="agreement, development panel (%)")
    axes.grid(axis="x", linewidth=0.4)
    title(axes, "a", "one setting changed at a time")


def _points(axes: Axes, result: Result, names: list[str], key: str, apart: float) -> None:
    base = _value(result, key, "base")
    for name in names:
        x, y = _value(result, key, name), _value(result, "agreement", name)
        axes.scatter([x], [y], s=26, color=_colour(name), linewidths=0)
        if abs(x - base) > apart:
            shift, side = (6, "left") if x > base else (-6, "right")
            label = name.replace("_", " ")
            axes.annotate(label, (x, y), xytext=(shift, 0), textcoords="offset points", fontsize=6.5, ha=side,
                          va="center")  # fmt: skip
    axes.margins(x=0.35, y=0.1)


def _colour(name: str) -> str:
    return VERMILLION if name == "base" else BLUE
