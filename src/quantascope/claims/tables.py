"""Results of claims and the scoreboard as tables, and the publication of results."""

from pathlib import Path

from rich.text import Text

from quantascope.claims.claim import Reproduction
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import COLUMNS, MECHANISM_COLUMNS, Row, mechanism, number, span
from quantascope.report.tables import console, text_table
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.files import write_bytes

_COLOURS = {"reproduced": "green", "differs": "yellow", "new": "cyan"}
_ROOM_FOR_RANGE = 100


def print_result(result: Result) -> None:
    """The figures of one result."""
    table = text_table("figure", "mean", "95 % interval", "runs", title=f"{result.claim}, {result.preset} preset")
    for estimate in result.figures.values():
        mean = f"{number(estimate.mean)} {estimate.unit}".strip() if estimate.values else "undefined"
        between = "" if estimate.low is None else span((estimate.low, estimate.high))
        table.add_row(estimate.says, mean, between, estimate.runs)
    console().print(table)


def print_scoreboard(rows: list[Row]) -> None:
    """A table for each claim that was run, and a line for each that was not."""
    out = console()
    for claim in dict.fromkeys(row.claim for row in rows):
        run = [row for row in rows if row.claim == claim and row.verdict != "not run"]
        missing = sum(row.claim == claim and row.verdict == "not run" for row in rows)
        if run:
            preset = run[0].to_json()["preset"]
            shown = [column for column in COLUMNS if column != "range" or out.width >= _ROOM_FOR_RANGE]
            table = text_table("figure", *shown, title=f"{claim}, {preset} preset")
            for row in run:
                cells: dict[str, str | Text] = dict(zip(COLUMNS, row.cells(), strict=True))
                cells["verdict"] = Text(row.verdict, style=_COLOURS[row.verdict])
                table.add_row(row.figure, *(cells[column] for column in shown))
            out.print(table)
        if missing:
            out.print(f"{claim}: {missing} figures not run", style="dim", highlight=False)
    tests = mechanism(rows)
    if tests:
        table = text_table(*MECHANISM_COLUMNS, title="exponents: the law, the finite system, the networks")
        for one in tests:
            table.add_row(*one.cells())
        out.print(table)


def _measured(result: Result) -> tuple[object, object]:
    return result.config, result.figures


def publish_result(done: Reproduction, results: Path, *, replace: bool = False) -> None:
    """Copy a result and its figure to the folder of committed results; another one is replaced only if asked."""
    result = done.result
    name = f"{result.claim}-{result.preset}"
    file = results / f"{name}.json"
    if file.exists() and not replace and _measured(Result.load(file)) != _measured(result):
        raise InvalidConfig(f"{file} holds another result; add --replace to replace it, or publish elsewhere")
    for suffix in (".png", ".svg"):
        write_bytes(results / "figures" / f"{name}{suffix}", (done.folder / f"figure{suffix}").read_bytes())
    result.save(file)
