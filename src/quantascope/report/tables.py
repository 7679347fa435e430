"""Results as tables in a terminal, and their publication."""

import shutil
from pathlib import Path

from rich.console import Console
from rich.table import Table

from quantascope.artefact import write_json
from quantascope.errors import StorageFailed
from quantascope.experiments import Reproduction, Result
from quantascope.report.scoreboard import Row, interval, number
from quantascope.theory import ClassAcquisitions

_COLOURS = {"reproduced": "green", "differs": "yellow", "new": "cyan", "not run": "dim"}


def print_result(result: Result, console: Console) -> None:
    """The figures of one result."""
    table = Table(
        "figure",
        "mean",
        "95 % interval",
        "runs",
        title=f"{result.claim}, {result.preset} preset",
        title_justify="left",
    )
    for estimate in result.figures.values():
        unit = f" {estimate.unit}" if estimate.unit else ""
        between = "" if estimate.low is None else f"{number(estimate.low)} … {number(estimate.high)}"
        table.add_row(
            estimate.says,
            f"{number(estimate.mean)}{unit}" if estimate.values else "–",
            between,
            str(len(estimate.values)),
        )
    console.print(table)


def print_scoreboard(rows: list[Row], console: Console) -> None:
    """All rows that were run, and how many of each claim were not."""
    run = [row for row in rows if row.verdict != "not run"]
    table = Table("claim", "figure", "paper", "ours", "95 % interval", "runs", "preset", "verdict")
    for row in run:
        shown = [number(row.paper), number(row.ours), interval(row), str(row.seeds), row.preset or ""]
        table.add_row(row.claim, row.figure, *shown, f"[{_COLOURS[row.verdict]}]{row.verdict}[/]")
    console.print(table)
    missing = [row for row in rows if row.verdict == "not run"]
    for claim in dict.fromkeys(row.claim for row in missing):
        count = sum(row.claim == claim for row in missing)
        console.print(f"not run: {claim}, {count} figures", style="dim", highlight=False)


def simulation_rows(outcome: ClassAcquisitions) -> list[dict[str, int | float]]:
    """One row for each depth of a simulated forest."""
    classes = outcome.classes
    return [
        {
            "depth": depth,
            "quanta": int(classes.counts[depth]),
            "closure_demand": float(classes.demand[depth]),
            "query_probability": float(classes.weight[depth]),
            "first": float(outcome.first[depth]),
            "last": float(outcome.last[depth]),
            "loss_after": float(outcome.loss(outcome.last[depth])[0]),
        }
        for depth in range(len(classes.counts))
    ]


def print_simulation(outcome: ClassAcquisitions, console: Console) -> None:
    """The depth classes of a simulated forest."""
    table = Table(
        "depth",
        "quanta",
        "closure demand",
        "query probability",
        "first acquired",
        "last acquired",
        "loss after",
    )
    for row in simulation_rows(outcome):
        count = f"{row['quanta']:,}"
        table.add_row(
            str(row.pop("depth")), count, *(f"{value:.4g}" for key, value in row.items() if key != "quanta")
        )
    console.print(table)
    console.print(
        f"{outcome.classes.counts.sum():,} quanta; loss is unmet query probability, time is in units of κ/p",
        highlight=False,
    )


def publish_result(done: Reproduction, results: Path) -> None:
    """Copy a result and its figure to the folder of committed results."""
    name = f"{done.result.claim}-{done.result.preset}"
    write_json(results / f"{name}.json", done.result.to_json())
    try:
        (results / "figures").mkdir(exist_ok=True)
        for suffix in (".png", ".svg"):
            shutil.copyfile(done.folder / f"figure{suffix}", results / "figures" / f"{name}{suffix}")
    except OSError as error:
        raise StorageFailed(
            f"cannot write to {results / 'figures'}: {error.strerror}; mend permissions or publish elsewhere"
        ) from error
