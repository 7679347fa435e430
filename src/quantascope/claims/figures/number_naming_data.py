"""Figure of the number-naming-data claim."""

from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.report.figures.style import BLUE, GREY, panels, title
from quantascope.tasks.number_naming import PANELS
from quantascope.tasks.number_naming.splits import LENGTHS, digits


def draw(reproduction: Reproduction) -> Figure:
    """How many numbers of each length every panel has, and how many of them are trained on."""
    figure, axes = panels(len(PANELS) // 2, width=2.1, height=4.2)
    figure.clear()
    trained = set(PANELS["training"]())
    for place, (name, panel) in enumerate(PANELS.items()):
        own = figure.add_subplot(2, len(axes), place + 1)
        counts = [sum(digits(n) == length for n in panel()) for length in LENGTHS]
        overlap = [sum(digits(n) == length and n in trained for n in panel()) for length in LENGTHS]
        own.bar(LENGTHS, counts, color=GREY, label="numbers")
        own.bar(LENGTHS, overlap, color=BLUE, label="of these trained on")
        own.set(xlabel="digits", xticks=list(LENGTHS))
        title(own, chr(ord("a") + place), f"{name.replace('_', ' ')}, {sum(counts):,}")
        if place == 0:
            own.set_ylim(0, 80)
        if place % len(axes) == 0:
            own.set_ylabel("numbers")
        if place == 2:
            own.legend(loc="upper left")
    return figure
