"""Output about a recovered Q-model: its fit, a trace, and interventions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quantascope.qmodel.recovered.intervene import Interventions
from quantascope.qmodel.recovered.interventions import Effect
from quantascope.qmodel.recovered.trace import Step, Trace, Unit
from quantascope.report.tables import TextTable, captured, print_table, text_table
from quantascope.report.text import plain, say, shown

_MOST_CHANNELS = 12
"""Largest number of listed channels; further ones are only counted."""
SHORT = 3
"""Lines of each cell of a trace by default."""


def qmodel_text(about: Mapping[str, Any]) -> str:
    """A table of a fitted Q-model and its fidelity."""
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
    return f"{captured(table)}\n" + shown(f"channels  {channels}\nqmodel    {about['qmodel']}")


def print_trace(followed: Trace, *, most: int | None = None) -> None:
    """A table of the active units at every emitted token; at most `most` lines each, largest activity first."""
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
    """A table of the effects of each intervention, in the Q-model and in the source."""
    table = text_table(
        "intervention", "most affected tokens", "Q-model points", "NLL", "source points", "NLL",
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
    """The first lines, and the number of further ones."""
    every = list(rows)
    more = len(every) - len(every[:most])
    return "\n".join([*every[:most], *([f"{more} more"] if more else [])])
