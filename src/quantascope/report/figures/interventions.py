"""Figure of interventions: the effect of each in the Q-model and in its source."""

import numpy as np
from matplotlib.figure import Figure

from quantascope.qmodel.recovered.intervene import Interventions
from quantascope.report.figures.style import GREY, ORANGE, title
from quantascope.report.text import plain


def draw(done: Interventions) -> Figure:
    """The increase of the NLL by intervention, with intervals over examples."""
    figure = Figure(figsize=(7.0, 1.4 + 0.32 * len(done.done)))
    axes = figure.add_subplot()
    place = np.arange(len(done.done))
    kinds = (("Q-model", ORANGE, -0.18, [one.qmodel for one in done.done]),
             ("source", GREY, 0.18, [one.source for one in done.done]))  # fmt: skip
    for label, colour, shift, effects in kinds:
        shown = [(row, effect) for row, effect in zip(place, effects, strict=True) if effect is not None]
        if not shown:
            continue
        rise = np.array([float(effect.nll.double().mean()) for _, effect in shown])
        ends = np.array([effect.interval(effect.nll) for _, effect in shown])
        reach = np.abs(ends - rise[:, None]).T
        axes.barh([row + shift for row, _ in shown], rise, height=0.32, color=colour, label=label, xerr=reach,
                  error_kw={"elinewidth": 0.8, "capsize": 1.5})  # fmt: skip
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(place, [one.title for one in done.done])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("rise of the NLL (nats per event)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.55 / (0.6 + 0.2 * len(done.done))), ncols=2)
    title(axes, "a", f"interventions on {plain(done.where)} ({done.events.count:,} events)")
    return figure
