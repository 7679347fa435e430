"""Figure of the guidance-other-programs claim."""

from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.guided_training import accuracy_panel
from quantascope.qmodel.compiled.fit import program_task
from quantascope.report.figures.style import panels, title

ROWS = {"ce": "cross-entropy\nalone", "guided": "guided", "qmodel": "Q-model"}


def draw(reproduction: Reproduction) -> Figure:
    """Accuracy without and with guidance, one panel per program."""
    programs = reproduction.config.programs
    figure, each = panels(len(programs), width=4.2)
    for letter, axes, program in zip("abcdefgh", each, programs, strict=False):
        shown = {panel: panel.replace("_", " ") for panel in program_task(program).task.reported}
        rows = {row: f"{program}_{{panel}}_{row}" for row in ROWS}
        accuracy_panel(axes, reproduction.result, rows, list(ROWS.values()), shown)
        title(axes, letter, program)
    return figure
