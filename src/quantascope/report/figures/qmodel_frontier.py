"""Figure of the qmodel-frontier claim."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.experiments import Reproduction, Result
from quantascope.report.figures.style import BLUE, VERMILLION, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Agreement against active writers, parameters and fidelity of the gates; each variation a point."""
    figure, shown = panels(3, width=4.3, height=3.6)
    columns = (
        ("active_writers", "active writers per event"),
        ("parameter_share", "parameters (% of the source's)"),
        ("gate_f1", "F1 of gates with held-out supports"),
    )
    for axes, letter, (key, label) in zip(shown, "abc", columns, strict=True):
        _points(axes, reproduction.result, list(reproduction.config.variations), key)
        axes.set(xlabel=label, ylabel="agreement, development panel (%)")
        title(axes, letter, f"agreement against {label.split(' (')[0].split(' per')[0].split(' with')[0]}")
    return figure


def _points(axes: Axes, result: Result, names: list[str], key: str) -> None:
    for name in names:
        x, y = (result.figures[f"{figure}_{name}"].mean for figure in (key, "agreement"))
        if x is None or y is None:
            continue
        axes.scatter([x], [y], s=26, color=VERMILLION if name == "base" else BLUE, linewidths=0)
        label = name.replace("_", " ")
        axes.annotate(label, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)
    axes.margins(0.15)
