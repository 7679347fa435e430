"""Figure of the seed-stability claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.seed_stability import NULLS, recurring
from quantascope.discovery import Recurrence, Rule
from quantascope.discovery.discover import Discovery
from quantascope.report.figures.style import BLUE, ORANGE, VERMILLION, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """How well factors recur under both rules, and which factors of the first source do."""
    config, sources = reproduction.config, list(reproduction.evidence.values())
    figure, (matches, quanta) = panels(2, width=5.0, height=4.0)
    rules: tuple[tuple[Rule, str], ...] = (("gradient", ORANGE), ("path", BLUE))
    for rule, colour in rules:
        nulls = [recurring(config, sources, rule, within=within) for within, _ in NULLS]
        _matches(matches, nulls, rule, colour)
        if rule == "path":
            _quanta(quanta, sources[0].discovery(rule, config.threshold), *(runs[0] for runs in nulls))
    matches.legend(loc="upper right")
    return figure


def _matches(axes: Axes, nulls: list[list[Recurrence]], rule: str, colour: str) -> None:
    values = np.sort(np.concatenate([one.mcc[np.isfinite(one.mcc)] for one in nulls[0]]))[::-1]
    axes.plot(np.linspace(0, 100, len(values)), values, color=colour, linewidth=1.8, label=f"{rule} rule")
    for runs, style, says in zip(
        nulls, (":", "--", "-."), ("chance", "within words", "within contexts"), strict=True
    ):
        level = float(np.nanmean(np.concatenate([one.chance for one in runs])))
        axes.axhline(level, color=colour, linestyle=style, linewidth=1.2, label=f"{says}, {rule} rule")
    axes.set(xlabel="matched pairs (%), best first", ylabel="correlation of supports (MCC)", xlim=(0, 100))
    title(axes, "a", f"factors matched across {len(nulls[0])} seeds")


def _quanta(axes: Axes, discovery: Discovery, found: Recurrence, words: Recurrence, contexts: Recurrence) -> None:
    order = np.argsort(discovery.acquired, kind="stable")
    others = [run for run in range(found.chance.shape[1]) if run != found.run]
    word, context = (null.recurs[order][:, others] for null in (words, contexts))
    row = np.indices(word.shape)[0]
    kinds = (
        (context, VERMILLION, "beyond word, length and position"),
        (word & ~context, BLUE, "beyond the word"),
        (~word & ~context, "none", "beyond neither"),
    )
    for chosen, filled, says in kinds:
        axes.scatter(
            found.mcc[order][:, others][chosen],
            row[chosen],
            facecolors=filled,
            edgecolors=VERMILLION if filled == VERMILLION else BLUE,
            s=20,
            linewidths=0.9,
            label=says,
        )
    axes.axvline(float(np.nanmean(found.chance)), color="black", linestyle=":", linewidth=1.2, label="chance")
    labels = [f"{discovery.names[index]}  {', '.join(discovery.words(index, most=2))}" for index in order.tolist()]
    axes.set_yticks(range(len(order)), labels)
    axes.invert_yaxis()
    axes.set(xlabel="MCC with its match in each other seed", xlim=(min(0, np.nanmin(found.mcc)) - 0.02, 1))
    axes.legend(loc="center right")
    title(axes, "b", "quanta of the first seed, earliest on top")
