"""`ShownRun`: a run as the explorer sees it, and which views it has."""

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
    """Whether a view is there; else why not, and the command that makes what it needs."""

    missing: str | None = None
    command: str | None = None

    def to_json(self, said: Callable[[str], str]) -> dict[str, Any]:
        """For the page; `said` puts what is missing as it may be shown."""
        missing = None if self.missing is None else said(self.missing)
        return {"there": self.missing is None, "missing": missing, "command": self.command}


THERE = Availability()


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownRun(ABC):
    """A run at a place, by the number under which the page knows it."""

    id: str
    where: str
    named: str
    """How commands and messages name the place: as it was given, or, in an offline file, without its path."""
    options: str = ""
    """Options that commands on this run need."""
    kept: Kept = field(default_factory=Kept)

    kind: ClassVar[str]

    @property
    def title(self) -> str:
        """The name of the folder or of the source in a file."""
        return Path(self.where).name or Path(self.where).resolve().name

    @property
    def folder(self) -> Path:
        """Where the files of the run are."""
        return Path(self.where)

    def command(self, verb: str) -> str:
        """A command on this run."""
        return f"quantascope {verb} {shlex.quote(self.named)}{self.options}"

    def without_path(self, message: str) -> str:
        """A message in which the place is named as commands name it."""
        for place in (str(Path(self.where).resolve()), self.where):
            message = message.replace(place, self.named)
        return message

    @abstractmethod
    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """The views of this kind of run, and what is damaged."""


def trouble(make: Callable[[], Any]) -> str | None:
    """What is wrong with something that is there, in one line; nothing if it can be read."""
    try:
        make()
    except QuantascopeError as error:
        return str(error)
    return None
