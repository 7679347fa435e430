"""Figure of the message-interventions claim."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.recovered_qmodel import colours, shifts
from quantascope.claims.message_interventions import KINDS, PANEL, strongest
from quantascope.claims.recovered_models import FittedSource
from quantascope.claims.result import Result
from quantascope.qmodel.recovered.effects import intervention_effects
from quantascope.report.figures.style import GREY, panels, title
from quantascope.tasks.number_naming import VOCABULARY

MOST_WORDS = 12


def draw(reproduction: Reproduction) -> Figure:
    """What each intervention costs, which words a deletion of all messages costs, and whether channels recur."""
    figure, (costs, words, channels) = panels(3, width=4.2, height=3.6)
    _costs(costs, reproduction.evidence)
    _words(words, reproduction.evidence)
    _channels(channels, reproduction.result, reproduction.evidence)
    return figure


def _costs(axes: Axes, evidence: Mapping[str, FittedSource]) -> None:
    for row, (_, which) in enumerate(KINDS.values()):
        for shift, (preset, colour) in shifts(evidence, 0.14):
            for place, fitted in enumerate(evidence.values()):
                found = strongest(which(intervention_effects(fitted.of(preset)[0], PANEL)))
                if found is None:
                    continue
                low, high = found.drop_interval
                y = row + shift + 0.07 * (place - 1)
                axes.plot([low, high], [y, y], color=colour, linewidth=1.0, alpha=0.7)
                label = preset if row == place == 0 else None
                axes.scatter([found.accuracy_drop], [y], color=colour, s=12, linewidths=0, label=label)
    axes.axvline(0, color="black", linewidth=0.8)
    names = [says.replace(" that matters most", "\nthat matters most").replace(" replaced by", "\nreplaced by")
             for says, _ in KINDS.values()]  # fmt: skip
    axes.set_yticks(range(len(KINDS)), names)
    axes.set(xlabel="token accuracy lost (points), 95 % over examples", ylim=(len(KINDS) - 0.5, -0.5))
    axes.legend(loc="upper right", bbox_to_anchor=(1, 0.84), handletextpad=0.2)
    title(axes, "a", "interventions inside the Q-model")


def _words(axes: Axes, evidence: Mapping[str, FittedSource]) -> None:
    first = next(iter(evidence.values()))
    lost = {
        preset: intervention_effects(first.of(preset)[0], PANEL).deleted.by_word() for preset in colours(evidence)
    }
    shown = sorted(lost["faithful"], key=lambda word: -max(abs(by[word]) for by in lost.values()))[:MOST_WORDS]
    for shift, (preset, colour) in shifts(evidence, 0.2):
        axes.barh([row + shift for row in range(len(shown))], [lost[preset][word] for word in shown],
                  height=0.38, color=colour, label=preset)  # fmt: skip
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(shown)), [VOCABULARY[word] for word in shown])
    axes.set(xlabel="accuracy lost on the word (points)", ylim=(len(shown) - 0.5, -0.5))
    axes.legend(loc="best")
    title(axes, "b", "all messages deleted, first source, by word")


def _channels(axes: Axes, result: Result, evidence: Mapping[str, FittedSource]) -> None:
    first = next(iter(evidence.values()))
    for place, (preset, colour) in enumerate(colours(evidence).items()):
        prefix = "" if preset == "faithful" else "distilled_"
        same, chance = (result.figures.get(f"{prefix}{key}") for key in ("edge_agreement", "edge_chance"))
        counts = [len(run.model.channels.edges) for run in first.of(preset)]
        label = f"{preset}\n({', '.join(map(str, counts))} channels)"
        axes.text(place, -0.03, label, ha="center", va="top", transform=axes.get_xaxis_transform())
        for estimate, shade, shift in ((same, colour, -0.12), (chance, GREY, 0.12)):
            if estimate is not None:
                label = "by chance" if shade == GREY and not place else None
                x = [place + shift] * len(estimate.values)
                axes.scatter(x, estimate.values, color=shade, s=26, linewidths=0, label=label)
    axes.set_xticks([])
    axes.set(xlim=(-0.5, 1.5), ylim=(-0.03, 1.03), ylabel="channels shared by two refits (Jaccard)")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right")
    title(axes, "c", "are the same channels selected again?")
