"""The result of a discovery, as tables and as JSON."""

from typing import Any

import numpy as np

from quantascope.discovery.discover import Discovery
from quantascope.discovery.factorize import MOST_FACTORS
from quantascope.discovery.nulls.beside import explained_by_nmf, explained_by_svd
from quantascope.report.tables import print_table, text_table
from quantascope.report.text import plain, say


def discovery_json(found: Discovery) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "run": str(found.source.folder),
        **field_json(found),
        "doubts": found.doubts,
        "layers": layers_json(found),
        **quanta_json(found),
    }


def field_json(found: Discovery) -> dict[str, Any]:
    """How priority was measured, and the share of the loss change that it accounts for."""
    return {
        "rule": found.trained.rule,
        "threshold": found.threshold,
        "reliable": found.trained.reliable,
        "completeness": found.trained.completeness,
        "event_correlation": found.trained.event_correlation,
        "rising_share": found.source.rising_share,
    }


def quanta_json(found: Discovery) -> dict[str, Any]:
    """One row for each quantum, and how their mean curve follows the held-out loss."""
    correlation = found.improvement_correlation
    return {
        "nll_correlation": None if np.isnan(correlation) else correlation,
        "quanta": found.table().to_dicts(),
    }


def layers_json(found: Discovery) -> list[dict[str, Any]]:
    """The share of each layer's held-out priority that factors and baselines of equal rank explain."""
    columns = (
        found.trained.layers,
        found.per_layer,
        found.explained,
        explained_by_svd(found),
        explained_by_nmf(found),
        found.negative,
    )
    return [
        {
            "layer": name,
            "factors": int(count),
            "explained": float(explained),
            "svd": float(svd),
            "nmf": float(nmf),
            "negative_mass": float(negative),
            "full": name in found.full_layers,
        }
        for name, count, explained, svd, nmf, negative in zip(*columns, strict=True)
    ]


def print_discovery(found: Discovery) -> None:
    """The quanta of a source, earliest first, and the share they explain."""
    trained = found.trained
    quanta = text_table(
        "quantum", "typical words", "acquired by step", "demand", "complexity", "explained %",
        title=f"{len(found.factors)} quanta of {found.source.folder} at {100 * found.threshold:g} %", names=2,
    )  # fmt: skip
    for quantum, acquired, demand, complexity, explained, _ in found.table().iter_rows():
        words = ", ".join(map(plain, found.words(found.names.index(quantum))))
        size = "" if complexity is None else f"{complexity:.1f}"
        quanta.add_row(quantum, words, f"{acquired:,}", f"{demand:.3f}", size, f"{100 * explained:.1f}")
    layers = text_table(
        "layer", "quanta", "explained %", "SVD %", "NMF %", "negative %", title="Held-out priority", names=0
    )
    for place, row in enumerate(layers_json(found)):
        name, count, *shares, full = row.values()
        layers.add_row(
            f"L{place}: {name}", f"{count}{'+' if full else ''}", *(f"{100 * share:.1f}" for share in shares)
        )
    print_table(quanta)
    print_table(layers)
    if found.complexity is None:
        say("Complexity is unknown: the source does not assign parameters to hidden units (hidden_units).")
    if found.full_layers:
        say(
            f"+ {', '.join(found.full_layers)}: {MOST_FACTORS} factors is the limit per layer; "
            f"there may be more above the threshold {found.threshold:g}."
        )
    say(
        f"The {trained.rule} field accounts for {trained.completeness:.3f} of the loss change "
        f"(correlation {trained.event_correlation:.3f} by event and interval).\n"
        f"The mean acquisition curve follows held-out improvement with r = {found.improvement_correlation:.3f}."
    )
