"""Figure of the finite-size claim."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from quantascope.claims.claim import Reproduction
from quantascope.claims.figures.panels import LEVEL_STYLES
from quantascope.claims.finite_size import FiniteSize, biases
from quantascope.report.figures.style import GREY, panels, title
from quantascope.theory import exponent, loss_by_count, prescribed_classes

PAPERS_QUANTA = 504


def draw(reproduction: Reproduction) -> Figure:
    """Loss curves of ever larger forests, and the bias of the exponent fitted to them."""
    config = reproduction.config
    figure, (curves, bias) = panels(2, width=4.2, height=3.3)
    _curves(curves, config)
    _bias(bias, config)
    return figure


def _curves(axes: Axes, config: FiniteSize) -> None:
    alpha = exponent(config.branching, config.betas[0])
    depths = [config.shallowest, *range(config.shallowest + 4, config.deepest + 1, 5)]
    for place, depth in enumerate(depths):
        classes = prescribed_classes(roots=config.roots, branching=config.branching, depth=depth, alpha=alpha)
        total = int(classes.counts.sum())
        counts = np.unique(np.geomspace(1, 0.999 * total, 300).astype(np.int64)).astype(float)
        shade = str(0.75 - 0.75 * place / max(len(depths) - 1, 1))
        mantissa, power = f"{total:.0e}".split("e")
        label = f"${mantissa}\\cdot10^{{{int(power)}}}$ quanta"
        axes.plot(counts, loss_by_count(classes, counts, "compositional"), color=shade, linewidth=1.2, label=label)
    ends = np.array([30.0, config.roots * float(config.branching) ** (config.deepest + 1)])
    law = 1.25 * (ends / config.roots) ** -alpha
    axes.plot(ends, law, "--", color=LEVEL_STYLES[0][0], label=f"$K^{{-{alpha:.2f}}}$ (shifted)")
    axes.set(
        xscale="log", yscale="log", ylim=(1e-2, 1.2), xlabel="acquired quanta K", ylabel="unmet demand (loss)"
    )
    axes.legend(loc="lower left", fontsize=7)
    title(axes, "a", f"a finite forest ends its law at its leaves, α = {alpha:.2f}")


def _bias(axes: Axes, config: FiniteSize) -> None:
    for beta, (colour, marker) in zip(config.betas, LEVEL_STYLES, strict=False):
        alpha, found = exponent(config.branching, beta), biases(config, beta)
        quanta = [one.quanta for one in found]
        for order, style in (("compositional", "-"), ("direct", ":")):
            excess = [100 * (getattr(one, order) / alpha - 1) for one in found]
            label = f"α = {alpha:.3g}" if order == "compositional" else None
            axes.plot(quanta, excess, style, marker=marker, markersize=3, color=colour, linewidth=1, label=label)
    axes.plot([], [], "-", color=GREY, label="poset order")
    axes.plot([], [], ":", color=GREY, label="direct order")
    axes.axvline(PAPERS_QUANTA, color=GREY, linewidth=0.6)
    axes.text(PAPERS_QUANTA, 1.3, " paper's forest", rotation=90, va="bottom", ha="right", fontsize=7, color="0.4")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel=f"quanta in a forest of {config.roots} roots",
        ylabel="bias of the fitted exponent (%)",
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.legend(loc="upper right")
    title(axes, "b", "the bias dies with size")
