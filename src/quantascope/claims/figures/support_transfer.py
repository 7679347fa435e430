"""Figure of the support-transfer claim, drawn from its figures alone, so that seeds can be published in parts."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Estimate
from quantascope.claims.support_transfer import KNOWN_UNITS, SupportTransfer, kinds_of
from quantascope.report.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, panels, title

COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
Figures = Mapping[str, Estimate]


def draw(reproduction: Reproduction) -> Figure:
    """Transfer by method, its diagonal, shifts against theory, and the first-order estimate."""
    config, figures = reproduction.config, reproduction.result.figures
    figure, (methods, diagonal, theory, estimate) = panels(4, width=3.8, height=3.9)
    _methods(methods, config, figures)
    _diagonal(diagonal, config, figures)
    _theory(theory, config, figures)
    _estimate(estimate, config, figures)
    for letter, axes, text in (
        ("a", methods, "the other half of a set"),
        ("b", diagonal, "beyond the other sets of the method"),
        ("c", theory, "shift of acquisition, nothing fitted"),
        ("d", estimate, "first order against retrained"),
    ):
        title(axes, letter, text)
    return figure


def _methods(axes: Axes, config: SupportTransfer, figures: Figures) -> None:
    """The transfer of every method, a point for each source; hollow: controls of any word."""
    rows = _rows(config)
    for place, (kind, methods) in enumerate(kinds_of(config).items()):
        for method in methods:
            y = rows.index(method) + _offset(place, config)
            for key, filled in (("word_transfer", True), ("transfer", False)):
                values = figures[f"{key}_{kind}_{method}"].values
                axes.scatter(values, [y] * len(values), s=12, linewidths=0.8, edgecolors=_colour(place),
                             facecolors=_colour(place) if filled else "none")  # fmt: skip
    _finish(axes, rows, "gain beyond controls (nats); filled: same word")
    _legend(axes, config)


def _diagonal(axes: Axes, config: SupportTransfer, figures: Figures) -> None:
    """How much more a set's other half gains than the other sets of its method."""
    rows = _rows(config)
    for place, (kind, methods) in enumerate(kinds_of(config).items()):
        for method in methods:
            values = figures[f"diagonality_{kind}_{method}"].values
            y = rows.index(method) + _offset(place, config)
            axes.scatter(values, [y] * len(values), s=12, color=_colour(place), linewidths=0)
    _finish(axes, rows, "gain beyond that of other sets (nats)")


def _theory(axes: Axes, config: SupportTransfer, figures: Figures) -> None:
    """Measured shift of the asked half and of its controls against what demand predicts; a point per method."""
    found = [(kind, method) for kind, methods in kinds_of(config).items() for method in methods]
    pairs = (
        (GREY, "controls", "predicted_control_shift", "control_shift"),
        (BLUE, "other half", "predicted_shift", "shift"),
    )
    for colour, label, predicted, measured in pairs:
        points = [_means(figures, kind, method, predicted, measured) for kind, method in found]
        axes.scatter(*_finite(points), s=14, alpha=0.8, color=colour, linewidths=0, label=label)
    ends = np.array([-0.8, 0.3])
    axes.plot(ends, ends, color="black", linewidth=0.8, label="T ∝ κ/p")
    axes.set(xlabel="predicted log T'/T", ylabel="measured log T'/T")
    axes.legend(loc="best", handletextpad=0.3)


def _estimate(axes: Axes, config: SupportTransfer, figures: Figures) -> None:
    """First-order against retrained transfer; a point per method."""
    for place, (kind, methods) in enumerate(kinds_of(config).items()):
        points = [_means(figures, kind, method, "estimated_transfer", "transfer") for method in methods]
        axes.scatter(*_finite(points), s=14, alpha=0.8, color=_colour(place), linewidths=0)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=1)
    axes.set(xlabel="first-order estimate (nats)", ylabel="retrained (nats)")


def _rows(config: SupportTransfer) -> list[str]:
    rows = dict.fromkeys(method for methods in kinds_of(config).values() for method in methods)
    return sorted(rows, key=("random", "alike").__contains__)  # the nulls come last


def _offset(place: int, config: SupportTransfer) -> float:
    return 0.6 * (place / max(1, len(kinds_of(config)) - 1) - 0.5)


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _legend(axes: Axes, config: SupportTransfer) -> None:
    for place, kind in enumerate(kinds_of(config)):
        words = kind.replace("_", " ")
        axes.scatter(
            [], [], s=12, color=_colour(place), label=f"parity, {words}" if kind in KNOWN_UNITS else words
        )
    axes.legend(loc="best", handletextpad=0.2)


def _finish(axes: Axes, rows: Sequence[str], label: str) -> None:
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row.replace("_", " ") for row in rows])
    axes.set(xlabel=label, ylim=(len(rows) - 0.5, -0.5))
    axes.grid(axis="y", linewidth=0.3)


def _means(figures: Figures, kind: str, method: str, *keys: str) -> tuple[float, ...]:
    means = (figures[f"{key}_{kind}_{method}"].mean for key in keys)
    return tuple(np.nan if mean is None else mean for mean in means)


def _finite(points: Sequence[tuple[float, ...]]) -> np.ndarray:
    both = np.array(points, dtype=float)
    return both[np.isfinite(both).all(1)].T
