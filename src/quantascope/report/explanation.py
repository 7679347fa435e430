"""Descriptions of units, as a table in a terminal and as Markdown."""

from pathlib import Path

import polars as pl

from quantascope.report.tables import print_rows
from quantascope.report.text import cell, say, shown
from quantascope.runs.files import write_bytes
from quantascope.semantics.explain import Explanation

COLUMNS = ("unit", "description", "F1", "95 % interval", "always true", "shuffled", "tells", "active")
DETECTOR_COLUMNS = ("property", "best unit", "F1", "95 % interval", "always active")


def print_explanation(found: Explanation) -> None:
    """Tables of the units of each kind, best described first, and of the detectors."""
    for kind in found.named:
        print_rows(f"{_plural(kind)}: {found.subject.title}", COLUMNS, _rows(found, kind), names=2)
    for kind, rows in _detector_rows(found).items():
        print_rows(f"Properties, and the single {kind} that detects each best", DETECTOR_COLUMNS, rows)
    say(legend(found))


def write_explanation(found: Explanation) -> tuple[Path, Path]:
    """Save the table as parquet and as Markdown; returns both paths."""
    table = found.save()
    text = table.with_suffix(".md")
    write_bytes(text, shown(explanation_markdown(found)).encode())
    return table, text


def explanation_markdown(found: Explanation) -> str:
    """The tables as Markdown."""
    parts = [f"# Units in words: {cell(found.subject.title)}", legend(found)]
    for kind in found.named:
        parts += [f"## {_plural(kind)}", _markdown(COLUMNS, _rows(found, kind))]
    for kind, rows in _detector_rows(found).items():
        parts += [
            f"## Properties, and the single {kind} that detects each best",
            _markdown(DETECTOR_COLUMNS, rows),
        ]
    return "\n\n".join(parts) + "\n"


def legend(found: Explanation) -> str:
    """Explanation of the columns."""
    return (
        f"Descriptions chosen on {found.calibration}, frozen, scored on {found.test}; a writer where its owner is "
        "active. Intervals over inputs drawn anew.\n"
        "always true: F1 of a description that always holds. shuffled: F1 of the same search on shuffled labels. "
        "tells: better than both, intervals included."
    )


def _rows(found: Explanation, kind: str) -> list[list[str]]:
    return [
        [
            row["unit"],
            row["description"],
            *(
                ("", "", "", "")
                if row["f1"] is None
                else (
                    f"{row['f1']:.3f}",
                    f"[{row['low']:.3f}, {row['high']:.3f}]",
                    f"{row['constant']:.3f}",
                    f"{row['permuted']:.3f}",
                )
            ),
            "yes" if row["tells"] else "no",
            f"{row['active']:.3f}",
        ]
        for row in found.table().filter(pl.col("kind") == kind).to_dicts()
    ]


def _detector_rows(found: Explanation) -> dict[str, list[list[str]]]:
    return {
        kind: [
            [one.says, one.unit, f"{one.f1:.3f}", f"[{one.low:.3f}, {one.high:.3f}]", f"{one.constant:.3f}"]
            for one in detected
        ]
        for kind, detected in found.detected.items()
        if detected
    }


def _plural(kind: str) -> str:
    return {"quantum": "Quanta", "writer": "Writers"}.get(kind, f"{kind.capitalize()}s")


def _markdown(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
