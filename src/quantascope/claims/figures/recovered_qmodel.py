"""Figure of the recovered-qmodel claim."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.recovered_models import FittedSource, presets_of
from quantascope.claims.recovered_qmodel import seen
from quantascope.qmodel.recovered.config import FitPreset
from quantascope.qmodel.recovered.fidelity import parameter_share, through_time
from quantascope.report.figures.style import BLUE, GREY, ORANGE, panels, title

COLOURS: dict[FitPreset, str] = {"faithful": ORANGE, "distilled": BLUE}


def colours(evidence: Mapping[str, FittedSource]) -> dict[FitPreset, str]:
    """The colours of the presets that were fitted."""
    return {preset: COLOURS[preset] for preset, _ in presets_of(evidence)}


def shifts(evidence: Mapping[str, FittedSource], reach: float) -> list[tuple[float, tuple[FitPreset, str]]]:
    """The horizontal offset of each preset's points, with its colour."""
    shown = list(colours(evidence).items())
    return list(zip((-reach, reach) if len(shown) > 1 else (0.0,), shown, strict=True))


def draw(reproduction: Reproduction) -> Figure:
    """Fidelity on the test panel, agreement through training, and what it costs in writers and parameters."""
    figure, (bars, time, cost) = panels(3, width=4.0, height=3.4)
    _fidelity(bars, reproduction.evidence)
    _through_time(time, reproduction.evidence)
    _cost(cost, reproduction.evidence)
    return figure


def _fidelity(axes: Axes, evidence: Mapping[str, FittedSource]) -> None:
    rows = {
        "agreement": lambda found: found.agreement,
        "agreement where\nthe source is right": lambda found: found.agreement_where_right,
        "agreement where\nthe source is wrong": lambda found: found.agreement_where_wrong,
        "token accuracy": lambda found: found.qmodel.token_accuracy,
        "greedy exact": lambda found: found.qmodel.exact_accuracy,
    }
    beside = {"token accuracy": "token_accuracy", "greedy exact": "exact_accuracy"}
    for row, (label, value) in enumerate(rows.items()):
        for shift, (preset, colour) in shifts(evidence, 0.14):
            values = [100 * value(seen(run, "test")) for fitted in evidence.values() for run in fitted.of(preset)]
            axes.scatter(values, [row + shift] * len(values), s=22, color=colour, alpha=0.8, linewidths=0,
                         label=preset if row == 0 else None)  # fmt: skip
        if label in beside:
            source = [
                100 * getattr(seen(fitted.runs[0], "test").source, beside[label]) for fitted in evidence.values()
            ]
            axes.scatter(source, [row] * len(source), s=30, marker="|", color="black",
                         label="source" if label == "token accuracy" else None)  # fmt: skip
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlabel="events or numbers (%)", ylim=(len(rows) - 0.5, -0.5))
    axes.grid(axis="x", linewidth=0.4)
    axes.legend(loc="upper left", handletextpad=0.2)
    title(axes, "a", "test panel, each fit a point")


def _through_time(axes: Axes, evidence: Mapping[str, FittedSource]) -> None:
    for preset, colour in colours(evidence).items():
        for place, fitted in enumerate(evidence.values()):
            table = through_time(fitted.of(preset)[0])
            label = preset if place == 0 else None
            axes.plot(table["step"], 100 * table["agreement"], color=colour, linewidth=1.1, alpha=0.8, label=label)
            decided = f"{preset}, source decided" if place == 0 else None
            axes.plot(table["step"], 100 * table["decided"], color=colour, linewidth=0.9, linestyle=":", alpha=0.8,
                      label=decided)  # fmt: skip
    for place, fitted in enumerate(evidence.values()):
        table = through_time(fitted.runs[0])
        label = "accuracy of the source" if place == 0 else None
        axes.plot(table["step"], 100 * table["source"], color=GREY, linewidth=0.9, linestyle="--", label=label)
    axes.axhline(90, color="black", linewidth=0.6, linestyle=":")
    axes.set(xlabel="training step of the source", ylabel="events (%)", ylim=(0, 101))
    axes.legend(loc="lower right")
    title(axes, "b", "agreement at each checkpoint; 90 %: the aim")


def _cost(axes: Axes, evidence: Mapping[str, FittedSource]) -> None:
    for preset, colour in colours(evidence).items():
        found = [run for fitted in evidence.values() for run in fitted.of(preset)]
        axes.scatter(
            [seen(run, "test").active_writers for run in found],
            [100 * seen(run, "test").agreement for run in found],
            s=[300 * parameter_share(run) for run in found],
            color=colour,
            alpha=0.6,
            linewidths=0,
            label=f"{preset}, {_range([100 * parameter_share(run) for run in found])} % of parameters",
        )
    axes.axhline(95, color="black", linewidth=0.6, linestyle=":")
    axes.axvline(8, color="black", linewidth=0.6, linestyle=":")
    axes.set(xlabel="active writers per event", ylabel="agreement with the source (%)")
    axes.legend(loc="center left", markerscale=0.6)
    title(axes, "c", "agreement and its cost; dotted: the aim")


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"
