"""Figure of the seed-stability claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.experiments import Reproduction
from quantascope.experiments.discovery import Discovery
from quantascope.experiments.seed_stability import recurring
from quantascope.priority import Recurrence, Rule
from quantascope.report.figures.style import BLUE, ORANGE, VERMILLION, panels, title


def draw(reproduction: Reproduction) -> Figure:
    """How well factors are found again under both rules, and which of the first source's are."""
    config, sources = reproduction.config, list(reproduction.evidence.values())
    figure, (matches, quanta) = panels(2, width=5.0, height=4.0)
    rules: tuple[tuple[Rule, str], ...] = (("gradient", ORANGE), ("path", BLUE))
    for rule, colour in rules:
        found, strict = (recurring(config, sources, rule, within_words=words) for words in (False, True))
        _matches(matches, found, strict, rule, colour)
        if rule == "path":
            _quanta(quanta, sources[0].discovery(rule, config.threshold), found[0], strict[0])
    matches.legend(loc="upper right")
    return figure


def _matches(axes: Axes, found: list[Recurrence], strict: list[Recurrence], rule: str, colour: str) -> None:
    values = np.sort(np.concatenate([one.mcc[np.isfinite(one.mcc)] for one in found]))[::-1]
    axes.plot(np.linspace(0, 100, len(values)), values, color=colour, linewidth=1.8, label=f"{rule} rule")
    for runs, style, says in ((found, ":", "chance"), (strict, "--", "chance within words")):
        level = float(np.nanmean(np.concatenate([one.chance for one in runs])))
        axes.axhline(level, color=colour, linestyle=style, linewidth=1.2, label=f"{says}, {rule} rule")
    axes.set(xlabel="matched pairs (%), best first", ylabel="correlation of supports (MCC)", xlim=(0, 100))
    title(axes, "a", f"factors matched across {len(found)} seeds")


def _quanta(axes: Axes, discovery: Discovery, found: Recurrence, strict: Recurrence) -> None:
    order = np.argsort(discovery.acquired, kind="stable")
    others = [run for run in range(found.chance.shape[1]) if run != found.run]
    beyond = strict.recurs[order][:, others]
    row = np.indices(beyond.shape)[0]
    for chosen, filled, says in ((beyond, BLUE, "beyond the output word"), (~beyond, "none", "not beyond it")):
        axes.scatter(
            found.mcc[order][:, others][chosen],
            row[chosen],
            facecolors=filled,
            edgecolors=BLUE,
            s=20,
            linewidths=0.9,
            label=says,
        )
    axes.axvline(float(np.nanmean(found.chance)), color=VERMILLION, linestyle=":", linewidth=1.2, label="chance")
    labels = [f"{discovery.names[index]}  {', '.join(discovery.words(index, most=2))}" for index in order.tolist()]
    axes.set_yticks(range(len(order)), labels)
    axes.invert_yaxis()
    axes.set(xlabel="MCC with its match in each other seed", xlim=(min(0, np.nanmin(found.mcc)) - 0.02, 1))
    axes.legend(loc="lower right")
    title(axes, "b", "quanta of the first seed, earliest on top")
