"""The figure of each claim, drawn from the evidence of its reproduction."""

import importlib
from pathlib import Path

from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.register import module_of
from quantascope.report.figures import save_figure
from quantascope.report.figures.style import house_style


def draw_claim(reproduction: Reproduction) -> Figure:
    """The figure of a reproduced claim."""
    drawer = importlib.import_module(f"quantascope.claims.figures.{module_of(reproduction.result.claim)}")
    with house_style():
        return drawer.draw(reproduction)


def write_figure(reproduction: Reproduction) -> Path:
    """Draw the figure of a reproduced claim beside its result; the path of the picture."""
    file = reproduction.folder / "figure.png"
    with house_style():
        save_figure(draw_claim(reproduction), file)
    return file
