"""Tables that commands print: in a terminal, or of a fixed width in a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from quantascope.program import CompiledProgram
from quantascope.report.text import say, shown
from quantascope.theory import ClassAcquisitions, SizeBias

_WIDTH_OF_A_LOG = 120
_WIDEST = 1000


def console() -> Console:
    """The output console: as wide as the terminal, or of a fixed width in a file."""
    # A token such as [/INST] or :x: is not markup.
    terminal = Console(markup=False, emoji=False)
    return terminal if terminal.is_terminal else Console(width=_WIDTH_OF_A_LOG, markup=False, emoji=False)


class TextTable(Table):
    """A table whose cells are plain text: control characters are shown, not interpreted."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of text."""
        super().add_row(*(shown(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def print_table(table: Table) -> None:
    """Print a table; in a narrow terminal, lines wrap, so that no name is cut."""
    _wide_enough(table).print(table)


def _wide_enough(table: Table) -> Console:
    out = console()
    out.width = max(out.width, Measurement.get(out, out.options.update(width=_WIDEST), table).minimum)
    return out


def text_table(*columns: str, title: str, names: int = 1) -> Table:
    """A table whose first `names` columns may wrap and whose numbers never do."""
    table = TextTable(title=shown(title), title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for index, column in enumerate(columns):
        if index < names:
            table.add_column(column, overflow="fold", min_width=22)
        else:
            table.add_column(column, no_wrap=True, justify="right")
    return table


def print_rows(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 1) -> None:
    """Any table whose cells are text; the first `names` columns may wrap."""
    table = text_table(*columns, title=title, names=names)
    for row in rows:
        table.add_row(*row)
    print_table(table)


def simulation_rows(
    outcome: ClassAcquisitions, sizes: Mapping[int, SizeBias]
) -> list[dict[str, int | float | None]]:
    """One row for each depth of a simulated forest, with the exponents fitted to a forest that ends there."""
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
            "exponent_compositional": sizes[depth].compositional if depth in sizes else None,
            "exponent_direct": sizes[depth].direct if depth in sizes else None,
        }
        for depth in range(len(classes.counts))
    ]


def print_simulation(outcome: ClassAcquisitions, sizes: Mapping[int, SizeBias], alpha: float) -> None:
    """The depth classes of a simulated forest, and the exponents of forests that end at each depth."""
    columns = ("depth", "quanta", "demand", "query", "first", "last", "loss", "exponent", "if direct")
    table = text_table(*columns, title=f"{outcome.classes.counts.sum():,} quanta, α = {alpha:g}", names=0)
    for row in simulation_rows(outcome, sizes):
        depth, quanta, *others = row.values()
        table.add_row(f"{depth}", f"{quanta:,}", *("" if value is None else f"{value:.3g}" for value in others))
    print_table(table)
    say(
        "demand p: closure demand of a node; query: its query probability; first, last: when the class is\n"
        "acquired if a quantum takes 1/p (κ = 1); loss: unmet query probability after that; exponent: what one\n"
        "would fit to the loss of a forest that ends here, learned in the order of the poset, or by query."
    )


def print_program(compiled: CompiledProgram) -> None:
    """A table of a compiled program's quanta by level, each with its direct dependencies."""
    graph, quanta = compiled.graph, compiled.program.registry.quanta
    said = f"{len(graph.names)} quanta, {len(graph.edges)} direct edges, {len(graph.by_level)} levels"
    table = text_table("quantum", "depends on", "level", "outputs", "declared", title=said, names=2)
    for quantum in (quantum for level in graph.by_level for quantum in level):
        parents = ", ".join(graph.names[parent] for parent in graph.parents(quantum)) or "the input"
        seen, declared = len(compiled.outcomes[quantum]), quanta[quantum].output_cardinality
        table.add_row(graph.names[quantum], parents, f"{graph.levels[quantum]}", f"{seen}", f"{declared}")
    print_table(table)
    say(f"audited on {compiled.audited:,} events")


def captured(table: Table) -> str:
    """A table as text."""
    out = _wide_enough(table)
    with out.capture() as text:
        out.print(table)
    return text.get().rstrip()
