"""Figure of the support-transfer claim."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.support_transfer import by_kind
from quantascope.claims.transfer_runs import Tried
from quantascope.discovery.transfer import Response
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, panels, title

COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)


def draw(reproduction: Reproduction) -> Figure:
    """Transfer by method, shifts against theory, the response matrix, and the first-order estimate."""
    kinds = by_kind(reproduction.evidence)
    figure, (methods, theory, matrix, estimate) = panels(4, width=3.9, height=3.6)
    _methods(methods, kinds)
    _theory(theory, kinds)
    _matrix(matrix, kinds)
    _estimate(estimate, kinds)
    return figure


def _methods(axes: Axes, kinds: dict[str, list[Tried]]) -> None:
    """The mean transfer of every method, a point for each source; hollow: controls of any word."""
    rows = list(dict.fromkeys(method for sources in kinds.values() for one in sources for method in one.methods))
    for number, (kind, sources) in enumerate(kinds.items()):
        offset = 0.5 * (number / max(1, len(kinds) - 1) - 0.5)
        colour = COLOURS[number % len(COLOURS)]
        for what, filled, label in (("word_transfer", colour, kind.replace("_", " ")), ("transfer", "none", None)):
            place = np.array(
                [
                    (np.mean([getattr(response, what) for response in own]), rows.index(method) + offset)
                    for one in sources
                    for method in one.methods
                    if (own := one.transfer.of(method))
                ]
            )
            axes.scatter(*place.T, s=14, facecolors=filled, edgecolors=colour, linewidths=0.8, label=label)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row.replace("_", " ") for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="gain beyond controls (nats); filled: same word")
    axes.legend(loc="best", handletextpad=0.2)
    title(axes, "a", "the other half of a set, by method")


def _theory(axes: Axes, kinds: dict[str, list[Tried]]) -> None:
    """Measured shift of the asked half and of its controls against what demand predicts."""
    found = _responses(kinds)
    shown = (
        (GREY, "controls", [(one.predicted_control, one.control_shift) for one in found]),
        (BLUE, "other half", [(one.predicted, one.shift) for one in found]),
    )
    for colour, label, points in shown:
        place = np.array(points)
        axes.scatter(place[:, 0], place[:, 1], s=9, alpha=0.7, color=colour, linewidths=0, label=label)
    ends = np.array([-1.1, 1.1])
    axes.plot(ends, ends, color="black", linewidth=0.8, label="T ∝ κ/p")
    axes.set(xlabel="predicted log T'/T", ylabel="measured log T'/T", xlim=ends)
    axes.legend(loc="upper left", handletextpad=0.3)
    title(axes, "b", "shift of acquisition, nothing fitted")


def _matrix(axes: Axes, kinds: dict[str, list[Tried]]) -> None:
    """The response matrix of the first factors, or of known units if there are none."""
    sources = [one for own in kinds.values() for one in own]
    first = next((one for one in sources if "factors" in one.methods), sources[0])
    method = first.methods[0]
    values = first.transfer.matrix(method)
    reach = float(np.nanmax(np.abs(values))) or 1.0
    axes.imshow(values, cmap="RdBu_r", vmin=-2 * reach, vmax=2 * reach)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(column, row, f"{value:.3f}", ha="center", va="center")
    axes.set_xticks(range(len(values)))
    axes.set_yticks(range(len(values)))
    axes.set(xlabel="set that responds", ylabel="set of which half is raised")
    title(axes, "c", f"gain (nats) of {method}, first source")


def _estimate(axes: Axes, kinds: dict[str, list[Tried]]) -> None:
    """First-order against retrained transfer."""
    for number, (kind, sources) in enumerate(kinds.items()):
        own = [response for one in sources for response in one.transfer.responses]
        place = np.array([(one.estimated_transfer, one.transfer) for one in own])
        colour = COLOURS[number % len(COLOURS)]
        axes.scatter(place[:, 0], place[:, 1], s=9, alpha=0.7, color=colour, label=kind.replace("_", " "))
    axes.axhline(0, color="black", linewidth=0.8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set(xlabel="first-order estimate (nats)", ylabel="retrained (nats)")
    axes.legend(loc="best", handletextpad=0.2)
    title(axes, "d", "first order against retrained")


def _responses(kinds: dict[str, list[Tried]]) -> Sequence[Response]:
    return [found for sources in kinds.values() for one in sources for found in one.transfer.responses]
