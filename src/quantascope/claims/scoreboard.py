"""The scoreboard: every figure of the paper beside what the committed results say about it.

A figure is *reproduced* when the paper's number lies within the range of our runs, widened by half a unit of the
paper's last printed digit; otherwise it *differs*. The rule is strict: one more honest draw falls outside the
range of n others with probability 2/(n + 1). A figure that the paper does not state is *new*; one without a
committed result is *not run*.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from quantascope.claims.result import Estimate, Result
from quantascope.runs.errors import DamagedArtefact

Verdict = Literal["reproduced", "differs", "not run", "new"]
WORTH = {"paper": 0, "full": 0, "quick": 1}


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
    """One line of the scoreboard: a figure of the paper, of ours, or of both."""

    claim: str
    figure: str
    stated: PaperFigure | None
    result: Result | None
    estimate: Estimate | None

    @property
    def verdict(self) -> Verdict:
        """Whether the paper's number lies within the range of our runs, if any run could tell."""
        if self.estimate is None or not (self.estimate.values or self.estimate.undefined):
            return "not run"
        if self.stated is None:
            return "new"
        slack = self.stated.rounding * (1 + 1e-9)
        values = self.estimate.values
        inside = bool(values) and min(values) - slack <= self.stated.paper <= max(values) + slack
        return "reproduced" if inside else "differs"

    def to_json(self) -> dict[str, Any]:
        """The row for machines."""
        preset = self.result.preset if self.result and self.estimate else None
        return {
            "claim": self.claim,
            "figure": self.figure,
            "paper": self.stated.paper if self.stated else None,
            "ours": self.estimate.mean if self.estimate else None,
            "low": self.estimate.low if self.estimate else None,
            "high": self.estimate.high if self.estimate else None,
            "seeds": len(self.estimate.values) if self.estimate else 0,
            "preset": preset,
            "verdict": self.verdict,
            "command": f"quantascope reproduce {self.claim} --preset {preset or 'full'}",
        }

    def cells(self) -> list[str]:
        """Paper, ours, interval, range, runs and verdict as text."""
        paper = number(self.stated.paper if self.stated else None)
        ours = self.estimate
        if ours is None or not ours.values:
            return [paper, "", "", "", ours.runs if ours else "", self.verdict]
        between = span((ours.low, ours.high)) if ours.low is not None else ""
        several = span((min(ours.values), max(ours.values))) if len(ours.values) > 1 else ""
        return [paper, number(ours.mean), between, several, ours.runs, self.verdict]


COLUMNS = ("paper", "ours", "95 % interval", "range", "runs", "verdict")


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
    """The committed result of each claim: not a quick one if there is another, then the one with most runs."""
    found: dict[str, Result] = {}
    for file in sorted(results.glob("*.json")):
        result = Result.load(file)
        if result.preset not in WORTH:
            raise DamagedArtefact(f"{file} has an unknown preset '{result.preset}'; restore it")
        worth = _worth(result)
        held = found.get(result.claim)
        if held is None or worth < _worth(held):
            found[result.claim] = result
    return found


def _worth(result: Result) -> tuple[int, int]:
    """Smaller is better."""
    runs = max((len(estimate.values) for estimate in result.figures.values()), default=0)
    return WORTH[result.preset], -runs


def scoreboard(results: Path) -> list[Row]:
    """All rows: the paper's figures in its order, each claim followed by what is new in it, then new claims."""
    paper, ours = read_paper(results), read_results(results)
    rows: list[Row] = []
    for claim in dict.fromkeys([*(figure.claim for figure in paper), *ours]):
        stated = {figure.figure: figure for figure in paper if figure.claim == claim}
        result = ours.get(claim)
        measured = dict(result.figures) if result else {}
        keys = [*stated, *(key for key in measured if key not in stated)]
        rows += [Row(claim, key, stated.get(key), result, measured.get(key)) for key in keys]
    return rows


@dataclass(frozen=True)
class Mechanism:
    """The mechanism tested at one level: exponents of the law, of the finite system, and measured."""

    claim: str
    level: str
    target: Estimate
    predicted: Estimate
    measured: Estimate

    def cells(self) -> list[str]:
        """Claim, target, prediction and measurement as text, with intervals."""
        shown = [number(self.target.mean)]
        for estimate in (self.predicted, self.measured):
            between = f" [{number(estimate.low)}, {number(estimate.high)}]" if estimate.low is not None else ""
            shown.append(f"{number(estimate.mean)}{between}")
        return [self.claim, *shown]


MECHANISM_COLUMNS = ("claim", "law", "finite system at measured K", "measured")


def mechanism(rows: list[Row]) -> list[Mechanism]:
    """The claims that compare a law with a finite-system prediction, level by level."""
    estimates = {(row.claim, row.figure): row.estimate for row in rows if row.estimate}
    found: list[Mechanism] = []
    for (claim, figure), measured in estimates.items():
        level = figure.removeprefix("exponent_")
        target, predicted = estimates.get((claim, f"target_{level}")), estimates.get((claim, f"predicted_{level}"))
        if figure.startswith("exponent_") and target and predicted:
            found.append(Mechanism(claim, level, target, predicted, measured))
    return found


def mechanism_markdown(rows: list[Row]) -> str:
    """The same as a Markdown table."""
    lines = [f"| {' | '.join(MECHANISM_COLUMNS)} |", "|---|---:|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(one.cells())} |" for one in mechanism(rows))])


def as_markdown(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [f"| claim | figure | {' | '.join(COLUMNS)} |", "|---|---|---:|---:|---|---|---|---|"]
    lines += [f"| {row.claim} | {row.figure} | {' | '.join(row.cells())} |" for row in rows]
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Four significant digits, without an exponent for counts and steps.

    >>> number(13700.0), number(-0.80012), number(None)
    ('13700', '-0.8001', '')
    """
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def span(ends: tuple[float | None, float | None]) -> str:
    """A low and a high end as text."""
    return " … ".join(number(end) for end in ends)
