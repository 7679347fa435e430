"""Figure of the number-naming-data claim."""

from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.report.figures.style import BLUE, GREY, title
from quantascope.tasks.number_naming import PANELS
from quantascope.tasks.number_naming.splits import LENGTHS, digits

COLUMNS, ROWS = 4, 3


def draw(reproduction: Reproduction) -> Figure:
    """How many numbers of each length every panel has, and how many of them are trained on.

    Training sets of other sizes belong to other claims.
    """
    figure = Figure(figsize=(9.6, 6.6))
    cells = figure.subplots(ROWS, COLUMNS).flatten()
    trained = set(PANELS["training"]())
    shown = {name: panel for name, panel in PANELS.items() if not name.startswith("training_")}
    assert len(shown) < len(cells), "the last cell is for the legend"
    for place, (own, (name, panel)) in enumerate(zip(cells, shown.items(), strict=False)):
        counts = [sum(digits(n) == length for n in panel()) for length in LENGTHS]
        overlap = [sum(digits(n) == length and n in trained for n in panel()) for length in LENGTHS]
        own.bar(LENGTHS, counts, color=GREY, label="numbers")
        own.bar(LENGTHS, overlap, color=BLUE, label="of these trained on")
        own.set(xlabel="digits", xticks=list(LENGTHS))
        title(own, chr(ord("a") + place), f"{name.replace('_', ' ')}, {sum(counts):,}")
        if place == 0:
            own.set_ylim(0, 80)
        if place % COLUMNS == 0:
            own.set_ylabel("numbers")
    for own in cells[len(shown) :]:
        own.set_axis_off()
    cells[-1].legend(*cells[0].get_legend_handles_labels(), loc="center")
    return figure
