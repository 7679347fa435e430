"""Arguments that several commands share, their parsing, and JSON output."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from quantascope.runs.errors import InvalidConfig

FitPreset = Literal["faithful", "distilled", "trusted"]
Changes = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="")]
Folder = Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")]
File = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]
ProgramName = Annotated[str | None, tyro.conf.arg(metavar="PROGRAM", help_behavior_hint="")]
Number = Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="")]


def parse_changes(changes: tuple[str, ...]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals or not key:
            raise InvalidConfig(f"'{change}' is not a setting; write KEY=VALUE, as in training.steps=500")
        try:
            parsed[key] = json.loads(text)
        except (ValueError, RecursionError):
            parsed[key] = text
    return parsed


def print_json(values: Any) -> None:
    print(json.dumps(values, indent=2))
