"""Results of claims and the scoreboard as tables."""

from collections import Counter

from rich.text import Text

from quantascope.claims.mechanism import MECHANISM_COLUMNS, mechanism
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import COLUMNS, STANDINGS, Row, Standing, Verdict, number, span, totals
from quantascope.report.tables import console, text_table

_COLOURS: dict[Verdict, str] = {
    "exact": "green",
    "within the spread": "green",
    "outside": "yellow",
    "no verdict": "dim",
    "out of reach": "dim",
    "new": "cyan",
}
_WITHOUT_VALUE: tuple[Verdict, ...] = ("not run", "out of reach")
_LEFT_OUT = ("range", "panel", "protocol")
"""Columns for which a narrow screen has no room."""
_ROOM_FOR_ALL = 130


def print_result(result: Result) -> None:
    """The figures of one result."""
    table = text_table("figure", "mean", "95 % interval", "runs", title=f"{result.claim}, {result.preset} preset")
    for estimate in result.figures.values():
        mean = f"{number(estimate.mean)} {estimate.unit}".strip() if estimate.values else "undefined"
        between = "" if estimate.low is None else span((estimate.low, estimate.high))
        table.add_row(estimate.says, mean, between, estimate.runs)
    console().print(table)


def print_standings(found: list[Standing]) -> None:
    """One line for each claim: how many of its stated figures have each verdict."""
    table = text_table("claim", "stated", *STANDINGS, title="figures that the paper states")
    for one in [*found, totals(found)]:
        table.add_row(one.claim, *one.cells())
    console().print(table)


def print_scoreboard(rows: list[Row]) -> None:
    """A table for each claim that was run, and a line for each that was not."""
    out = console()
    for claim in dict.fromkeys(row.claim for row in rows):
        run = [row for row in rows if row.claim == claim and row.verdict not in _WITHOUT_VALUE]
        missing = Counter(row.verdict for row in rows if row.claim == claim and row.verdict in _WITHOUT_VALUE)
        if run:
            shown = [column for column in COLUMNS if out.width >= _ROOM_FOR_ALL or column not in _LEFT_OUT]
            table = text_table("figure", *shown, title=claim)
            for row in run:
                cells: dict[str, str | Text] = dict(zip(COLUMNS, row.cells(), strict=True))
                cells["verdict"] = Text(row.verdict, style=_COLOURS[row.verdict])
                table.add_row(row.figure, *(cells[column] for column in shown))
            out.print(table)
        for verdict, count in missing.items():
            out.print(f"{claim}: {count} figures {verdict}", style="dim", highlight=False)
    tests = mechanism(rows)
    if tests:
        table = text_table(*MECHANISM_COLUMNS, title="exponents: the law, the finite system, the networks")
        for one in tests:
            table.add_row(*one.cells())
        out.print(table)
