"""Figure of the source-faithfulness claim."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.recovered_qmodel import shifts
from quantascope.claims.recovered_models import FittedSource, presets_of
from quantascope.claims.source_faithfulness import compared
from quantascope.qmodel.recovered.config import FitPreset
from quantascope.qmodel.recovered.source_effects import KINDS, Comparison
from quantascope.report.figures.style import panels, title


def draw(reproduction: Reproduction) -> Figure:
    """Predicted against found effects of the first source under both presets, and correlations beside controls."""
    evidence, every = reproduction.evidence, reproduction.config.every
    figure, (left, middle, right) = panels(3, width=4.0, height=3.4)
    first = next(iter(evidence.values()))
    shown: tuple[tuple[Axes, str, FitPreset], ...] = ((left, "a", "faithful"), (middle, "b", "distilled"))
    for axes, letter, preset in shown[: len(presets_of(evidence))]:
        _pairs(axes, compared(first.of(preset)[0], every), letter, preset)
    _correlations(right, evidence, every)
    return figure


def _pairs(axes: Axes, found: Comparison, letter: str, preset: FitPreset) -> None:
    effect = found.found["message"]
    reach = float(np.percentile(np.abs([*found.predicted, *effect]), 99)) if len(effect) else 1.0
    axes.hexbin(
        found.predicted, effect, gridsize=45, bins="log", cmap="cividis", mincnt=1, linewidths=0,
        extent=(-reach, reach, -reach, reach),
    )  # fmt: skip
    axes.plot([-reach, reach], [-reach, reach], color="black", linewidth=0.8)
    axes.text(0.98, 0.02, "brighter: more pairs of\nwriter and event (log)", transform=axes.transAxes, fontsize=7,
              ha="right", va="bottom")  # fmt: skip
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set(xlabel="predicted by the Q-model (Δ nats)", ylabel="found in the source (Δ nats)")
    title(axes, letter, f"a writer's message taken away, {preset}, r = {found.correlation('message'):.2f}")


def _correlations(axes: Axes, evidence: Mapping[str, FittedSource], every: int) -> None:
    for row, kind in enumerate(KINDS):
        for shift, (preset, colour) in shifts(evidence, 0.13):
            values = [compared(fitted.of(preset)[0], every).correlation(kind) for fitted in evidence.values()]
            label = preset if row == 0 else None
            axes.scatter(
                values, [row + shift] * len(values), color=colour, s=24, alpha=0.8, linewidths=0, label=label
            )
    axes.axvline(0, color="black", linewidth=0.8)
    names = {"message": "message", "component": "component\nalong the writer", "random_direction":
             "control: random\ndirection", "random_events": "control: random\ntokens"}  # fmt: skip
    axes.set_yticks(range(len(KINDS)), [names[kind] for kind in KINDS])
    axes.set(xlabel="correlation of predicted and found effect", ylim=(len(KINDS) - 0.5, -0.5))
    axes.legend(loc="best", handletextpad=0.2)
    title(axes, "c", "over writers and events, each source a point")
