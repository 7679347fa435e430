"""`ShownRun`: a run in the explorer, with its views."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from quantascope.explorer.kept import Kept
from quantascope.runs.errors import QuantascopeError

VIEWS = ("training", "quanta", "trace", "intervene", "program", "dynamics", "compare", "claims")


@dataclass(frozen=True)
class Availability:
    """Whether a view is available; if not, why, and the command that makes what it needs."""

    missing: str | None = None
    command: str | None = None

    def to_json(self, said: Callable[[str], str]) -> dict[str, Any]:
        """The availability as JSON; `said` formats the reason."""
        missing = None if self.missing is None else said(self.missing)
        return {"there": self.missing is None, "missing": missing, "command": self.command}


THERE = Availability()


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownRun(ABC):
    """A run at a location, with its number on the page."""

    id: str
    where: str
    named: str
    """The name of the location in commands and messages: as given, or without its path in an offline file."""
    options: str = ""
    """Options that commands on this run require."""
    kept: Kept = field(default_factory=Kept)

    kind: ClassVar[str]

    @property
    def title(self) -> str:
        """The name of the folder, or of the source in a file."""
        return Path(self.where).name or Path(self.where).resolve().name

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self.where)

    def command(self, verb: str) -> str:
        """A command on this run."""
        return f"quantascope {verb} {shlex.quote(self.named)}{self.options}"

    def without_path(self, message: str) -> str:
        """A message with the location named as in commands."""
        for place in (str(Path(self.where).resolve()), self.where):
            message = message.replace(place, self.named)
        return message

    @abstractmethod
    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """The available views of this kind of run, and the damaged files."""


def trouble(make: Callable[[], Any]) -> str | None:
    """The problem of an artefact in one line; None if it can be read."""
    try:
        make()
    except QuantascopeError as error:
        return str(error)
    return None
