"""Figure of the qmodel-frontier claim."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Result
from quantascope.report.figures.style import BLUE, VERMILLION, title

COSTS = (
    ("active_writers", "active writers per event", "against sparsity", 0.5),
    ("parameter_share", "parameters (% of the source's)", "against size", 2.0),
    ("gate_f1", "F1 of gates with held-out supports", "against fidelity of gates", 0.03),
)
"""What agreement is drawn against, a title, and the distance from the base from which a variation is named."""

CLOSE = 0.4
"""Points of agreement within which two names are moved apart."""


def draw(reproduction: Reproduction) -> Figure:
    """Agreement of each variation, then against active writers, parameters and fidelity of the gates."""
    figure = Figure(figsize=(10.5, 8))
    rows, *costs = figure.subplots(2, 2).flatten()
    result, names = reproduction.result, list(reproduction.config.variations)
    _rows(rows, result, names)
    for axes, letter, (key, label, text, apart) in zip(costs, "bcd", COSTS, strict=True):
        _points(axes, result, names, key, apart)
        axes.set(xlabel=label, ylabel="agreement, development panel (%)")
        title(axes, letter, text)
    for colour, label in ((VERMILLION, "base"), (BLUE, "one setting changed; named if far from the base")):
        marker = "D" if colour == VERMILLION else "o"
        costs[0].scatter([], [], s=26, color=colour, linewidths=0, marker=marker, label=label)
    figure.legend(*costs[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, handletextpad=0.2)
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
    places = {name: (_value(result, key, name), _value(result, "agreement", name)) for name in names}
    for name, (x, y) in sorted(places.items(), key=lambda one: one[0] == "base"):
        axes.scatter([x], [y], s=26, color=_colour(name), linewidths=0, marker="D" if name == "base" else "o")
    named = sorted((name for name in names if abs(places[name][0] - base) > apart), key=lambda one: places[one][1])
    for name in named:
        x, y = places[name]
        shift, side = (6, "left") if x > base else (-6, "right")
        near = [places[one][1] - y for one in named if one != name and (places[one][0] > base) == (x > base)]
        up = 3 * (any(-CLOSE < gap <= 0 for gap in near) - any(0 < gap < CLOSE for gap in near))
        axes.annotate(name.replace("_", " "), (x, y), xytext=(shift, up), textcoords="offset points", fontsize=8,
                      ha=side, va="center")  # fmt: skip
    axes.margins(x=0.35, y=0.1)


def _colour(name: str) -> str:
    return VERMILLION if name == "base" else BLUE
