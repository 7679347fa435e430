"""The style of figures: one palette that is safe for colour-blindness and print, and uniform axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from quantascope.report.text import shown

# Okabe and Ito's palette.
VERMILLION, BLUE, GREEN, SKY, ORANGE, PURPLE, GREY = (
    "#D55E00", "#0072B2", "#009E73", "#56B4E9", "#E69F00", "#CC79A7", "#999999",
)  # fmt: skip

_SETTINGS: Any = {
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.07,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "quantascope",
    "svg.fonttype": "none",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Context manager that applies the style."""
    with mpl.rc_context(_SETTINGS):
        yield


def panels(count: int, *, width: float = 3.5, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """A row of panels."""
    figure = Figure(figsize=(width * count, height))
    return figure, [figure.add_subplot(1, count, index + 1) for index in range(count)]


def title(axes: Axes, letter: str, text: str) -> None:
    """Set a panel's letter and title."""
    axes.set_title(f"$\\bf{{({letter})}}$ {text}")


def legible(figure: Figure) -> Figure:
    """Make all text of a figure drawable: no control characters, no invalid formulas."""
    parser = MathTextParser("path")
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(shown(text.get_text()))
        try:
            if is_math_text(text.get_text()):
                parser.parse(text.get_text())
        except ValueError:
            text.set_parse_math(False)
    return figure


def step_scale(steps: np.ndarray) -> dict[str, Any]:
    """The scale of an axis of training steps: linear, or logarithmic from the first on if most steps are early.

    >>> step_scale(np.arange(0, 100, 10))
    {'value': 'linear'}
    >>> step_scale(np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 1000]))
    {'value': 'symlog', 'linthresh': 1, 'linscale': 0.5}
    """
    if np.median(steps) > steps[-1] / 10:
        return {"value": "linear"}
    return {"value": "symlog", "linthresh": int(steps[steps > 0][0]), "linscale": 0.5}


Quantity = Literal["steps", "probability"]


def log_axes(axes: Axes, *, x: Quantity, y: Quantity) -> None:
    """Set logarithmic axes with few, plain labels, after plotting."""
    axes.set(xscale="log", yscale="log")
    for axis, quantity in ((axes.xaxis, x), (axes.yaxis, y)):
        form = "{:,.0f}" if quantity == "steps" else "{:g}"
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _, form=form: form.format(value)))
        axis.set_minor_formatter(NullFormatter())
        if not np.isfinite(axis.get_data_interval()).all():
            axis.set_view_interval(1, 10, ignore=True)  # nothing was acquired: an empty panel
