"""Figure of the semantics claim."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.semantics import MARK, PASSED, PRESENT, Explained, ExplainedSource
from quantascope.report.figures.style import BLUE, GREY, ORANGE, panels, title
from quantascope.semantics.subjects import QUANTUM, WRITER

KINDS = ((QUANTUM, "quanta", ORANGE, "o"), (WRITER, "writers", BLUE, "^"))


def draw(reproduction: Reproduction) -> Figure:
    """F1 against that of a description that always holds; what is gained over it; zeros by place."""
    figure, (against, gains, zeros) = panels(3, width=4.2, height=3.8)
    faithful = [source.models["faithful"][0] for source in reproduction.evidence.values()]
    _against(against, faithful)
    _gains(gains, reproduction.evidence)
    _zeros(zeros, faithful)
    return figure


def _against(axes: Axes, found: list[Explained]) -> None:
    for kind, label, colour, marker in KINDS:
        table = pl.concat([one.kind(kind) for one in found])
        for tells, face in ((True, colour), (False, "none")):
            some = table.filter(pl.col("tells") == tells)
            axes.scatter(
                some["constant"], some["f1"], s=20, marker=marker, facecolors=face, edgecolors=colour,
                linewidths=0.9, alpha=0.85, label=label if tells else f"{label} that say no more",
            )  # fmt: skip
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    axes.axhline(MARK, color=GREY, linestyle=":", linewidth=1.2)
    axes.text(0.01, MARK + 0.005, "the paper's mark", ha="left", va="bottom", fontsize=7)
    axes.set(xlabel="F1 of a description that always holds", ylabel="held-out F1 of the description")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(loc="lower right", handletextpad=0.2)
    title(axes, "a", "faithful Q-models, each unit a point")


def _gains(axes: Axes, evidence: Mapping[str, ExplainedSource]) -> None:
    sources = list(evidence.values())
    rows = {"supports of factors": [(source.factors, QUANTUM) for source in sources]}
    for kind, units in ((QUANTUM, "gates"), (WRITER, "writers")):
        for preset in sources[0].models:
            rows[f"{units}, {preset}"] = [(source.models[preset][0], kind) for source in sources]
    for row, (label, found) in enumerate(rows.items()):
        values = pl.concat([one.kind(kind)["gain"] for one, kind in found]).to_numpy()
        spread = np.random.default_rng(row).uniform(-0.22, 0.22, len(values))
        axes.scatter(
            values,
            row + spread,
            s=9,
            color=BLUE if label.startswith("writers") else ORANGE,
            alpha=0.6,
            linewidths=0,
        )
        if len(values):
            axes.plot([np.median(values)] * 2, [row - 0.32, row + 0.32], color="black", linewidth=1.4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlabel="F1 above that of always true", ylim=(len(rows) - 0.5, -0.5))
    title(axes, "b", "what descriptions add; black: median")


def _zeros(axes: Axes, found: list[Explained]) -> None:
    kinds = ((PRESENT, "the number has the zero", BLUE, -0.13), (PASSED, "the name passes it here", ORANGE, 0.13))
    for which, label, colour, shift in kinds:
        for place, one in enumerate(found):
            table = one.zeros_of(WRITER, which)
            rows = np.arange(table.height) + shift + 0.05 * (place - (len(found) - 1) / 2)
            reach = np.stack([table["f1"] - table["low"], table["high"] - table["f1"]]).clip(min=0)
            axes.errorbar(
                table["f1"], rows, xerr=reach, fmt="o", markersize=3, color=colour, linewidth=0.8, alpha=0.85,
                label=label if place == 0 else None,
            )  # fmt: skip
        table = found[0].zeros_of(WRITER, which)
        axes.scatter(
            table["constant"], np.arange(table.height) + shift, marker="|", s=110, color="black", zorder=3,
            label="always active" if which == PRESENT else None,
        )  # fmt: skip
    places = [says.removeprefix(f"{PRESENT} ") for says in found[0].zeros_of(WRITER, PRESENT)["says"]]
    axes.set_yticks(range(len(places)), places)
    axes.set(xlabel="held-out F1 of the best single writer", xlim=(0, 1), ylim=(len(places) - 0.5, -0.5))
    axes.legend(loc="upper right", handletextpad=0.2)
    title(axes, "c", "zeros, by their place")
