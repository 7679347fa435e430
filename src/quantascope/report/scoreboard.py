"""The scoreboard: every figure of the paper beside what the committed results say about it.

A figure is *reproduced* when the paper's number could be one more draw from what we measured: with mean m and
standard deviation s over n runs, and a paper value that is itself a mean over k runs,

    |paper − m| ≤ t₀.₉₇₅(n − 1) · s · √(1/n + 1/k) + half a unit of the paper's last printed digit.

Otherwise it *differs*. Exact facts (k = 0) and single runs have no spread to excuse them: only the rounding
counts. A figure that the paper does not state is *new*; one without a committed result is *not run*.
"""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import stats

from quantascope.artefact import read_json
from quantascope.errors import DamagedArtefact
from quantascope.experiments.result import Estimate, Result

Verdict = Literal["reproduced", "differs", "not run", "new"]
PRESETS_BY_WORTH = ("paper", "full", "quick")


@dataclass(frozen=True)
class PaperFigure:
    """A number that the paper states."""

    claim: str
    figure: str
    paper: float
    printed: str
    unit: str
    runs: int
    place: str
    says: str

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit.

        >>> PaperFigure("c", "f", 0.982, "0.982", "", 1, "", "").rounding
        0.0005
        """
        decimals = len(self.printed.partition(".")[2].rstrip("%"))
        return 0.5 * 10.0**-decimals


@dataclass(frozen=True)
class Row:
    """One line of the scoreboard."""

    claim: str
    figure: str
    paper: float | None
    ours: float | None
    low: float | None
    high: float | None
    seeds: int
    preset: str | None
    verdict: Verdict
    command: str


def read_paper(results: Path) -> list[PaperFigure]:
    """The figures of `results/paper.toml`."""
    file = results / "paper.toml"
    try:
        entries = tomllib.loads(file.read_text())["figure"]
        return [PaperFigure(**{**entry, "paper": float(entry["paper"])}) for entry in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise DamagedArtefact(
            f"{file} is not the list of the paper's figures ({error}); use --results of a checkout"
        ) from error


def read_results(results: Path) -> dict[str, Result]:
    """The committed result of each claim, under the most faithful preset that was run."""
    found: dict[str, Result] = {}
    for file in sorted(results.glob("*.json")):
        try:
            result = Result.from_json(read_json(file))
        except (KeyError, TypeError) as error:
            raise DamagedArtefact(f"{file} is not a result of quantascope ({error}); remove it") from error
        held = found.get(result.claim)
        if held is None or _worth(result) < _worth(held):
            found[result.claim] = result
    return found


def _worth(result: Result) -> tuple[int, int]:
    """Results from more runs first; among equals the more faithful preset."""
    runs = max((len(estimate.values) for estimate in result.figures.values()), default=0)
    return -runs, PRESETS_BY_WORTH.index(result.preset)


def scoreboard(results: Path) -> list[Row]:
    """All rows: the paper's figures in its order, each claim followed by what is new in it."""
    paper, ours = read_paper(results), read_results(results)
    rows: list[Row] = []
    for claim in dict.fromkeys(figure.claim for figure in paper):
        stated = [figure for figure in paper if figure.claim == claim]
        result = ours.get(claim)
        rows += [_row(figure, result) for figure in stated]
        if result:
            names = {figure.figure for figure in stated}
            rows += [_new(claim, key, value, result) for key, value in result.figures.items() if key not in names]
    return rows


def verdict(figure: PaperFigure, estimate: Estimate) -> Verdict:
    """Whether the paper's number could be one more draw from ours."""
    values = np.array(estimate.values)
    if estimate.mean is None:
        return "differs"
    spread = 0.0
    if figure.runs and values.size > 1:
        factor = math.sqrt(1 / values.size + 1 / figure.runs)
        spread = float(stats.t.ppf(0.975, values.size - 1) * values.std(ddof=1) * factor)
    return (
        "reproduced" if abs(figure.paper - estimate.mean) <= spread + figure.rounding * (1 + 1e-9) else "differs"
    )


def _row(figure: PaperFigure, result: Result | None) -> Row:
    estimate = result.figures.get(figure.figure) if result else None
    if result is None or estimate is None:
        return Row(
            figure.claim,
            figure.figure,
            figure.paper,
            None,
            None,
            None,
            0,
            None,
            "not run",
            _command(figure.claim, "full"),
        )
    return Row(
        figure.claim, figure.figure, figure.paper, estimate.mean, estimate.low, estimate.high,
        len(estimate.values), result.preset, verdict(figure, estimate), _command(figure.claim, result.preset),
    )  # fmt: skip


def _new(claim: str, key: str, estimate: Estimate, result: Result) -> Row:
    return Row(
        claim, key, None, estimate.mean, estimate.low, estimate.high,
        len(estimate.values), result.preset, "new", _command(claim, result.preset),
    )  # fmt: skip


def _command(claim: str, preset: str) -> str:
    return f"quantascope reproduce {claim} --preset {preset}"


def as_markdown(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| claim | figure | paper | ours | 95 % interval | runs | preset | verdict |",
        "|---|---|---:|---:|---|---:|---|---|",
    ]
    for row in rows:
        cells = [
            row.claim,
            row.figure,
            number(row.paper),
            number(row.ours),
            interval(row),
            str(row.seeds or ""),
            row.preset or "",
            row.verdict,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def interval(row: Row) -> str:
    """The interval as text; empty if there is none."""
    return "" if row.low is None else f"{number(row.low)} … {number(row.high)}"


def number(value: Any) -> str:
    """Four significant digits, without an exponent for counts and steps.

    >>> number(13700.0), number(-0.80012), number(None)
    ('13700', '-0.8001', '')
    """
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
