"""The scoreboard: every figure of the paper beside what the committed results say about it, like for like.

A claim may have two results: that of the *paper's own run*, whose seeds and order of draws are the paper's (preset
`paper`), and one over seeds (preset `full`), which follows the paper's protocol or another one, as
`results/paper.toml` says of each claim. Only the first two are compared with the paper. Where the settings of the
paper's run are not public, the preset `paper` has the *released defaults* and is not compared either:

    exact               the paper's own run, or every run, gives the digits that the paper prints
    within the spread   the paper's number lies within the range of runs of its protocol, widened by half a unit of
                        its last printed digit
    outside             neither
    no verdict          there is only a smaller protocol, or ours
    out of reach        units of the paper's one fit, which no other fit has, or runs that take a GPU for weeks

Facts that no seed decides, such as counts, are compared whatever the protocol. One more honest draw falls outside
the range of n others with probability 2/(n + 1), so *outside* says little of few runs. A figure that the paper
does not state is *new*; one without a committed result is *not run*.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError

from quantascope.claims.result import Estimate, Result
from quantascope.runs.errors import DamagedArtefact, message_of
from quantascope.runs.files import opened, unreadable

Verdict = Literal["exact", "within the spread", "outside", "no verdict", "out of reach", "not run", "new"]
Protocol = Literal[
    "paper's run", "paper's protocol over seeds", "smaller protocol", "our protocol", "released defaults"
]
PAPER_RUN: Protocol = "paper's run"
COMPARED: tuple[Protocol, ...] = (PAPER_RUN, "paper's protocol over seeds")
_PRESETS = ("paper", "full", "quick")


@dataclass(frozen=True)
class PaperFigure:
    """A number that the paper states; `panel` is that of the paper where there are several.

    `reach` is false where no run here can have the figure.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    claim: str
    figure: str
    paper: float
    printed: str
    unit: str
    runs: int
    place: str
    says: str
    panel: str = ""
    reach: bool = True

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit.

        >>> PaperFigure("c", "f", 0.982, "0.982", "", 1, "", "").rounding
        0.0005
        """
        decimals = len(self.printed.partition(".")[2].rstrip("%"))
        return 0.5 * 10.0**-decimals

    def equals(self, value: float) -> bool:
        """Whether a value has the printed digits."""
        return abs(value - self.paper) <= self.rounding * (1 + 1e-9)


@dataclass(frozen=True)
class ClaimEntry:
    """What a claim says, the page on it, what its results follow, and what is `missing` to be exact.

    `part` is the statement of the paper that it belongs to.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    says: str
    page: str
    part: str = ""
    full: Protocol = "paper's protocol over seeds"
    run: Protocol = PAPER_RUN
    missing: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the scoreboard: a figure of the paper, of ours, or of both.

    `run` is what the paper's own run gives here, `estimate` what is shown: over seeds if there are any.
    """

    claim: str
    figure: str
    stated: PaperFigure | None
    estimate: Estimate | None
    protocol: Protocol | None
    run: Estimate | None = None
    preset: str | None = None

    @property
    def verdict(self) -> Verdict:
        """How the paper's number compares with runs of the paper's protocol."""
        if not any(one and (one.values or one.undefined) for one in (self.run, self.estimate)):
            return "not run" if self.stated is None or self.stated.reach else "out of reach"
        if self.stated is None:
            return "new"
        compared = [self.run] if self.run else []
        if self.estimate and (self.protocol in COMPARED or self.stated.runs == 0):
            compared.append(self.estimate)
        if not compared:
            return "no verdict"
        if any(one.values and all(map(self.stated.equals, one.values)) for one in compared):
            return "exact"
        return "within the spread" if any(self._spans(one) for one in compared) else "outside"

    def _spans(self, estimate: Estimate) -> bool:
        assert self.stated
        slack, values = self.stated.rounding * (1 + 1e-9), estimate.values
        return bool(values) and min(values) - slack <= self.stated.paper <= max(values) + slack

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {
            "claim": self.claim,
            "figure": self.figure,
            "says": self.stated.says if self.stated else self.estimate.says if self.estimate else "",
            "paper": self.stated.paper if self.stated else None,
            "run": self.run.mean if self.run else None,
            "ours": self.estimate.mean if self.estimate else None,
            "low": self.estimate.low if self.estimate else None,
            "high": self.estimate.high if self.estimate else None,
            "seeds": len(self.estimate.values) if self.estimate else 0,
            "protocol": self.protocol,
            "panel": self.stated.panel if self.stated else "",
            "preset": self.preset,
            "verdict": self.verdict,
            "command": f"quantascope reproduce {self.claim} --preset {self.preset or 'full'}",
        }

    def cells(self) -> list[str]:
        """Paper, the paper's run, ours, interval, range, runs, protocol, panel and verdict as text."""
        ours, run = self.estimate, self.run
        between = span((ours.low, ours.high)) if ours and ours.low is not None else ""
        several = span((min(ours.values), max(ours.values))) if ours and len(ours.values) > 1 else ""
        return [
            number(self.stated.paper if self.stated else None),
            number(run.mean if run else None),
            number(ours.mean if ours else None),
            between,
            several,
            ours.runs if ours else "",
            self.protocol or "",
            self.stated.panel if self.stated else "",
            self.verdict,
        ]


COLUMNS = ("paper", "its run here", "ours", "95 % interval", "range", "runs", "protocol", "panel", "verdict")


STANDINGS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Standing:
    """One claim: what it is about, and how many of its stated figures have each verdict."""

    claim: str
    entry: ClaimEntry
    verdicts: Mapping[Verdict, int]

    @property
    def stated(self) -> int:
        """How many figures the paper states."""
        return sum(count for verdict, count in self.verdicts.items() if verdict != "new")

    @property
    def link(self) -> str:
        """The claim in Markdown, with a link to its page."""
        return f"[{self.claim}]({self.entry.page})" if self.entry.page else self.claim

    def cells(self, verdicts: Sequence[Verdict] = STANDINGS) -> list[str]:
        """The number of stated figures, and of each verdict, as text."""
        return [str(self.stated or ""), *(str(self.verdicts[verdict] or "") for verdict in verdicts)]


def read_paper(results: Path) -> list[PaperFigure]:
    """The figures of `results/paper.toml`."""
    return _checked(results, list[PaperFigure], _read_toml(results).get("figure"))


def read_entries(results: Path) -> dict[str, ClaimEntry]:
    """What `results/paper.toml` says of each claim."""
    return _checked(results, dict[str, ClaimEntry], _read_toml(results).get("claim", {}))


def _checked(results: Path, kind: Any, values: Any) -> Any:
    """Values of the list as what they describe: dataclasses, whose types are checked."""
    try:
        return TypeAdapter(kind).validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        first = error.errors()[0]
        raise _not_the_list(results, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _read_toml(results: Path) -> dict[str, Any]:
    file = results / "paper.toml"
    with opened(file, _OWN_LIST) as stream:
        try:
            return tomllib.load(stream)
        except OSError as error:
            raise unreadable(file, error) from error
        except ValueError as error:  # no TOML, or no UTF-8
            raise _not_the_list(results, message_of(error)) from error


_OWN_LIST = "leave out --results, or name a folder that has it"


def _not_the_list(results: Path, reason: str) -> DamagedArtefact:
    return DamagedArtefact(
        f"{results / 'paper.toml'} is not the list of the paper's figures ({reason}); {_OWN_LIST}"
    )


def read_results(results: Path) -> dict[str, dict[str, Result]]:
    """The committed results of each claim by preset; a quick one only where there is no other."""
    found: dict[str, dict[str, Result]] = {}
    for file in sorted(results.glob("*.json")):
        result = Result.load(file)
        if result.preset not in _PRESETS:
            raise DamagedArtefact(f"{file} has an unknown preset '{result.preset}'; restore it")
        found.setdefault(result.claim, {})[result.preset] = result
    for presets in found.values():
        if len(presets) > 1:
            presets.pop("quick", None)
    return found


def scoreboard(results: Path) -> list[Row]:
    """All rows: the paper's figures in its order, each claim followed by what is new in it, then new claims."""
    paper, entries, ours = read_paper(results), read_entries(results), read_results(results)
    rows: list[Row] = []
    for claim in dict.fromkeys([*(figure.claim for figure in paper), *ours]):
        stated = {figure.figure: figure for figure in paper if figure.claim == claim}
        presets = ours.get(claim, {})
        measured = [key for result in presets.values() for key in result.figures]
        entry = entries.get(claim, ClaimEntry("", ""))
        rows += [_row(claim, key, stated.get(key), presets, entry) for key in dict.fromkeys([*stated, *measured])]
    return rows


def _row(
    claim: str, key: str, stated: PaperFigure | None, presets: Mapping[str, Result], entry: ClaimEntry
) -> Row:
    """A figure of a claim; where the paper's panel is not that of a result, the figure on the paper's is taken."""
    found = {preset: one for preset, result in presets.items() if (one := _figure(result, key, stated))}
    run, full, quick = (found.get(preset) for preset in _PRESETS)
    compared = run if entry.run == PAPER_RUN else None
    if full:
        return Row(claim, key, stated, full, entry.full, compared, "full")
    if run:
        return Row(claim, key, stated, run, entry.run, compared, "paper")
    return Row(claim, key, stated, quick, "smaller protocol" if quick else None, None, "quick" if quick else None)


def _figure(result: Result, key: str, stated: PaperFigure | None) -> Estimate | None:
    on_panel = f"{key}_{stated.panel}" if stated and stated.panel else key
    return result.figures.get(on_panel) or result.figures.get(key)


def standings(rows: Sequence[Row], entries: Mapping[str, ClaimEntry]) -> list[Standing]:
    """One for each claim, in the order of the rows."""
    counts: dict[str, dict[Verdict, int]] = {}
    for row in rows:
        of_claim = counts.setdefault(row.claim, dict.fromkeys(STANDINGS, 0))
        verdict = "new" if row.stated is None else row.verdict
        of_claim[verdict] += 1
    unknown = ClaimEntry("", "")
    return [Standing(claim, entries.get(claim, unknown), found) for claim, found in counts.items()]


def totals(found: Sequence[Standing]) -> Standing:
    """All claims together."""
    sums: dict[Verdict, int] = {verdict: sum(one.verdicts[verdict] for one in found) for verdict in STANDINGS}
    return Standing("all", ClaimEntry("", ""), sums)


def as_markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [f"| claim | figure | {' | '.join(COLUMNS)} |", "|---|---|---:|---:|---:|---|---|---|---|---|---|"]
    lines += [f"| {row.claim} | {row.figure} | {' | '.join(row.cells())} |" for row in rows]
    return "\n".join(lines)


def standings_markdown(found: Sequence[Standing]) -> str:
    """One line for each claim, and one for all, as a Markdown table."""
    return _counted("claim | says", [(f"{one.link} | {one.entry.says}", one) for one in found])


def totals_markdown(found: Sequence[Standing]) -> str:
    """One line for each part of the paper that states figures, and one for all, as a Markdown table."""
    parts: dict[str, list[Standing]] = {}
    for one in found:
        if one.stated:
            parts.setdefault(one.entry.part or one.entry.says, []).append(one)
    return _counted(
        "the paper says",
        [(f"{part}: {', '.join(one.link for one in claims)}", totals(claims)) for part, claims in parts.items()],
    )


def _counted(head: str, lines: Sequence[tuple[str, Standing]]) -> str:
    """A Markdown table of standings and their sums; verdicts that no figure has are left out."""
    sums = totals([one for _, one in lines])
    kept: list[Verdict] = [verdict for verdict in STANDINGS if sums.verdicts[verdict]]
    columns = head.count("|") + 1
    return "\n".join(
        [
            f"| {head} | stated | {' | '.join(kept)} |",
            f"|{'---|' * columns}{'---:|' * (len(kept) + 1)}",
            *(f"| {first} | {' | '.join(one.cells(kept))} |" for first, one in lines),
            f"| all {'| ' * (columns - 1)}| {' | '.join(sums.cells(kept))} |",
        ]
    )


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
