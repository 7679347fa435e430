"""What commands print: tables in a terminal, or of a fixed width in a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from quantascope.program import CompiledProgram
from quantascope.qmodel.recovered.intervene import Interventions
from quantascope.qmodel.recovered.interventions import Effect
from quantascope.qmodel.recovered.trace import Step, Trace, Unit
from quantascope.report.text import plain, say, shown
from quantascope.sources.source import Source
from quantascope.theory import ClassAcquisitions, SizeBias

_WIDTH_OF_A_LOG = 120
_WIDEST = 1000
_MOST_CHANNELS = 12
"""More are counted, not listed."""
SHORT = 3
"""Lines of each cell of a trace, unless all are asked for."""


def console() -> Console:
    """Where tables go: as wide as the terminal, or a fixed width in a file."""
    # A token such as [/INST] or :x: is no markup.
    terminal = Console(markup=False, emoji=False)
    return terminal if terminal.is_terminal else Console(width=_WIDTH_OF_A_LOG, markup=False, emoji=False)


class TextTable(Table):
    """A table whose cells are text: what steers a terminal is shown, not obeyed."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of text."""
        super().add_row(*(shown(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def print_table(table: Table) -> None:
    """Print a table, in a terminal that is too narrow for its columns with lines that wrap: no name vanishes."""
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
    """The quanta of a compiled program by level, each with the quanta that it depends on directly."""
    graph, quanta = compiled.graph, compiled.program.registry.quanta
    said = f"{len(graph.names)} quanta, {len(graph.edges)} direct edges, {len(graph.by_level)} levels"
    table = text_table("quantum", "depends on", "level", "outputs", "declared", title=said, names=2)
    for quantum in (quantum for level in graph.by_level for quantum in level):
        parents = ", ".join(graph.names[parent] for parent in graph.parents(quantum)) or "the input"
        seen, declared = len(compiled.outcomes[quantum]), quanta[quantum].output_cardinality
        table.add_row(graph.names[quantum], parents, f"{graph.levels[quantum]}", f"{seen}", f"{declared}")
    print_table(table)
    say(f"audited on {compiled.audited:,} events")


def accuracy_text(source: Source, table: pl.DataFrame) -> str:
    """Accuracy by panel and length of the prompt."""
    columns = ("panel", "length", "inputs", "token %", "exact %", "nats")
    out = text_table(*columns, title=_training_title(source), names=0)
    for panel, length, inputs, token, exact, nll in table.iter_rows():
        style = "bold" if length == "all" else None
        cells = (f"{inputs:,}", f"{100 * token:.1f}", f"{100 * exact:.1f}", f"{nll:.3f}")
        out.add_row(panel if length == "all" else "", length, *cells, style=style)
    return _captured(out)


def _training_title(source: Source) -> str:
    title = f"{source.folder}: {source.steps[-1]:,} steps"
    rising = source.rising_share
    return title if rising is None else f"{title}, the loss rose in {100 * rising:.1f} % of them"


def qmodel_text(about: Mapping[str, Any]) -> str:
    """A fitted Q-model beside its source."""
    table = text_table("", "Q-model", "source", title=f"{about['qmodel']}, {about['panel']} panel")
    for says, key in (("token accuracy", "token_accuracy"), ("greedy exact", "exact")):
        table.add_row(says, f"{about[key]:.1%}", f"{about[f'source_{key}']:.1%}")
    table.add_row("agreement with the source", f"{about['agreement']:.1%}", "")
    table.add_row("agreement where the source is right", f"{about['agreement_where_right']:.1%}", "")
    table.add_row(
        "parameters", f"{about['parameters']:,}", f"{about['parameters'] / about['parameter_share']:,.0f}"
    )
    table.add_row("active quanta per event", f"{about['active_quanta']:.2f} of {about['quanta']}", "")
    table.add_row("active writers per event", f"{about['active_writers']:.2f} of {about['writers']}", "")
    some = [" → ".join(channel) for channel in about["channels"]]
    channels = f"{len(some)}, in qmodel.json" if len(some) > _MOST_CHANNELS else ", ".join(some) or "none"
    return f"{_captured(table)}\n" + shown(f"channels  {channels}\nqmodel    {about['qmodel']}")


def print_trace(followed: Trace, *, most: int | None = None) -> None:
    """What was active at every emitted token; `most` lines of each, if given, the largest activities first."""
    say(
        f"{plain(followed.input)}: the {followed.preset} Q-model says {' '.join(map(plain, followed.output))}, "
        f"the source {' '.join(map(plain, followed.source_output))}"
    )
    table = TextTable(box=None, padding=(0, 2, 0, 0))
    for column in ("token", "source says", "gates", "writers and their activity", "channels", "Q-model", "source"):
        table.add_column(column, overflow="fold")
    for step in followed.steps:
        table.add_row(
            _judged(step, known=followed.right is not None),
            plain(step.source_token),
            _lines(map(_unit, _by_activity(step.gates)), most),
            _lines((f"{unit.activity:6.2f} {_unit(unit)}" for unit in _by_activity(step.writers)), most),
            _lines((f"{parent} → {child}" for parent, child in step.channels), most),
            _lines(_probabilities(step.top), most),
            _lines(_probabilities(step.source_top), most),
            end_section=True,
        )
    print_table(table)


def print_interventions(done: Interventions) -> None:
    """What each intervention costs, in the Q-model and in the source."""
    table = text_table(
        "intervention", "tokens it harms most", "Q-model points", "NLL", "source points", "NLL",
        title=f"{done.where}: {done.events.count:,} events; points of accuracy lost, nats gained", names=2,
    )  # fmt: skip
    for one in done.done:
        harmed = ", ".join(f"{plain(token)} {rise:+.2f}" for token, rise in done.rising_tokens(one.qmodel))
        table.add_row(
            one.title, harmed, *_cost(one.qmodel), *(("", "") if one.source is None else _cost(one.source))
        )
    print_table(table)


def _cost(found: Effect) -> tuple[str, str]:
    return f"{found.accuracy_drop:.1f}", f"{float(found.nll.double().mean()):+.3f}"


def _judged(step: Step, *, known: bool) -> str:
    if not known or step.token == step.right:
        return plain(step.token)
    return f"{plain(step.token)} (right: {plain(step.right) if step.right else 'nothing more'})"


def _unit(unit: Unit) -> str:
    return f"{unit.name} {unit.says}" if unit.says else unit.name


def _by_activity(units: Sequence[Unit]) -> list[Unit]:
    return sorted(units, key=lambda unit: -unit.activity)


def _probabilities(top: Sequence[tuple[str, float]]) -> list[str]:
    return [f"{probability:4.0%} {plain(token)}" for token, probability in top]


def _lines(rows: Iterable[str], most: int | None) -> str:
    """The first lines, and how many there are beyond them."""
    every = list(rows)
    more = len(every) - len(every[:most])
    return "\n".join([*every[:most], *([f"{more} more"] if more else [])])


def _captured(table: Table) -> str:
    out = _wide_enough(table)
    with out.capture() as captured:
        out.print(table)
    return captured.get().rstrip()
