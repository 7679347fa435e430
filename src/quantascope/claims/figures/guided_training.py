"""Figures of the claims about programs: accuracies with every seed, and which block follows which level."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.compiled_qmodel import PANELS
from quantascope.claims.guided_training import alignment
from quantascope.claims.result import Result
from quantascope.report.figures.style import BLUE, GREEN, GREY, VERMILLION, panels, title

PANEL_STYLES = {"balanced": (BLUE, "o"), "zero_gap": (VERMILLION, "s"), "short_tail": (GREEN, "^")}
_ROWS = {
    "ce": "cross-entropy alone",
    "ce_last": "… last step",
    "guided": "guided",
    "guided_last": "… last step ",
    "oracle": "… by the program's routing",
    "depth": "… depth shuffled",
    "examples": "… examples shuffled",
    "word": "… within equal words",
    "teacher_plain": "its Q-model",
    "ours_ce": "our form, cross-entropy",
    "ours": "our form, guided",
    "unlabelled": "… and unlabelled prompts",
    "teacher_ours": "its Q-model ",
}


def draw(reproduction: Reproduction) -> Figure:
    """Every row on every panel, and the alignment of blocks with levels without and with guidance."""
    figure, (rows, before, after) = panels(3, width=4.4, height=3.8)
    shown = {row: says for row, says in _ROWS.items() if f"balanced_{row}" in reproduction.result.figures}
    accuracy_panel(rows, reproduction.result, {row: f"{{panel}}_{row}" for row in shown}, list(shown.values()))
    title(rows, "a", "exact names, held-out numbers")
    for axes, letter, row, says in ((before, "b", "ce", "cross-entropy alone"), (after, "c", "guided", "guided")):
        _matrix(axes, reproduction, row)
        title(axes, letter, f"alignment, {says}")
    return figure


def accuracy_panel(
    axes: Axes,
    result: Result,
    rows: Mapping[str, str],
    labels: Sequence[str],
    shown: Mapping[str, str] = PANELS,
) -> None:
    """Accuracy of each row, one mark per seed and a bar at the mean with its interval; `rows` are key patterns."""
    styles = [*PANEL_STYLES.values()]
    for place, (panel, says) in enumerate(shown.items()):
        colour, marker = styles[place]
        for row, key in enumerate(rows.values()):
            estimate = result.figures[key.format(panel=panel)]
            height = row + 0.22 * (place - (len(shown) - 1) / 2)
            axes.scatter(
                estimate.values, [height] * len(estimate.values), color=colour, marker=marker, s=9, alpha=0.4,
                linewidths=0,
            )  # fmt: skip
            if estimate.mean is None:
                continue
            low = estimate.mean if estimate.low is None else estimate.low
            high = estimate.mean if estimate.high is None else estimate.high
            axes.errorbar(
                estimate.mean, height, xerr=[[estimate.mean - low], [high - estimate.mean]], color=colour,
                marker=marker, markersize=4, capsize=2, lw=1, label=says if row == 0 else None,
            )  # fmt: skip
    axes.set_yticks(range(len(rows)), list(labels))
    axes.set(xlabel="exact-sequence accuracy (%)", xlim=(-2, 102))
    axes.grid(axis="x", color=GREY, alpha=0.3, linewidth=0.5)
    axes.invert_yaxis()
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=3, columnspacing=1, handletextpad=0.3)


def _matrix(axes: Axes, reproduction: Reproduction, row: str) -> None:
    matrix = torch.stack([alignment(run, row) for run in reproduction.evidence.values()]).mean(0).numpy()
    image = axes.imshow(matrix, vmin=0, vmax=1, cmap="cividis", aspect="equal")
    axes.set(xlabel="level of the Q-model", ylabel="block of the Transformer")
    axes.set_xticks(range(matrix.shape[1]))
    axes.set_yticks(range(matrix.shape[0]))
    axes.spines[:].set_visible(False)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, ticks=np.linspace(0, 1, 6))
    bar.set_label("linear CKA, held-out events")
