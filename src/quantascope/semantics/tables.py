"""Property tables for the events of a source: the task's, the user's, or one made from its tokens.

A user's table is a function in a file, `FILE.py:NAME`, from inputs to `Properties`; or a parquet file with a row
for each event, a column `panel`, and any further columns; or a program that writes what the source writes.
"""

from functools import lru_cache
from pathlib import Path

import polars as pl

from quantascope.program.registry import Program
from quantascope.program.source import split_entry
from quantascope.programs import BUILT_IN
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.quanta.properties import Properties
from quantascope.runs.artefact import read_table
from quantascope.runs.errors import InvalidConfig, QuantascopeError
from quantascope.semantics.token_properties import token_properties
from quantascope.sources.source import Source
from quantascope.sources.user_file import call_named, load_name
from quantascope.tasks.task import SymbolTask

TASK_TABLE = "task"
"""Name of the task's own table."""


@lru_cache(maxsize=8)
def property_table(source: Source, panel: str, asked: str | None = None) -> Properties:
    """The properties of a panel's events, from the requested table or by default the best available one."""
    inputs, labels = source.inputs(panel), source.labels(panel)
    if asked is None or asked == TASK_TABLE:
        table = source.task.properties(inputs)
        if table is None and isinstance(source.task, SymbolTask):
            table = token_properties(source.events(panel), source.task.vocabulary)
        if table is None:
            raise InvalidConfig(
                f"the task of {source.folder} has no properties; give a table with --properties FILE.py:NAME"
            )
    elif asked.endswith(".parquet"):
        table = _parquet_table(Path(asked), panel)
    elif split_entry(asked)[0] in BUILT_IN:
        table = _program_table(source, panel, asked)
    else:
        table = _user_table(asked, source, panel)
    if table.events != len(labels):
        raise InvalidConfig(
            f"the property table {asked or TASK_TABLE} has {table.events:,} events of panel '{panel}', and the "
            f"source has {len(labels):,}; give a table of the same events in the same order"
        )
    return table


def _user_table(asked: str, source: Source, panel: str) -> Properties:
    function = load_name(asked, "a function from inputs to Properties, or a program")
    if isinstance(function, Program):
        return _program_table(source, panel, asked)
    if not callable(function):
        raise InvalidConfig(f"{asked} is not a function; write def {split_entry(asked)[1]}(inputs) -> Properties")
    table = call_named(asked, function, source.inputs(panel))
    if not isinstance(table, Properties):
        raise InvalidConfig(f"{asked} returns {type(table).__name__}; let it return quantascope.Properties")
    return table


def _parquet_table(file: Path, panel: str) -> Properties:
    if not file.is_file():
        raise InvalidConfig(f"there is no property table {file}; give the path of a parquet file")
    table = read_table(file, made_by=None, remedy="give a whole parquet file")
    if "panel" not in table.columns or len(table.columns) < 2:
        raise InvalidConfig(f"{file} has columns {', '.join(table.columns)}; it needs `panel` and some properties")
    rows = table.filter(pl.col("panel") == panel)
    columns = {name: rows[name].to_list() for name in rows.columns if name not in ("panel", "example")}
    truths = {name for name, values in columns.items() if {*values} <= {True, False, None}}
    example = rows["example"].to_list() if "example" in rows.columns else list(range(len(rows)))
    if not example:
        raise InvalidConfig(f"{file} has no events of panel '{panel}'; add them")
    return Properties.of(columns, {name: name if name in truths else f"{name} {{}}" for name in columns}, example)


def _program_table(source: Source, panel: str, program: str) -> Properties:
    events, compiled = source.events(panel), program_task(program).compiled
    try:
        trace = compiled.trace(source.inputs(panel))
    except QuantascopeError as error:
        raise InvalidConfig(
            f"the program {program} does not run on the inputs of {source.folder} ({error}); give a program of "
            "the same task, or leave out --properties"
        ) from error
    if trace.example.shape != tuple(events.example.shape) or (trace.example != events.example.numpy()).any():
        raise InvalidConfig(
            f"the program {program} writes other outputs than the source was trained on; give a program of the "
            "same task, or leave out --properties"
        )
    return trace.properties
