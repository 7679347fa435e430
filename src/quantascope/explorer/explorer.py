"""`Explorer`: maps addresses to answers. An error in one run or view does not affect the others."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quantascope.explorer.compare import comparable, compare
from quantascope.explorer.dynamics import dynamics
from quantascope.explorer.events import events
from quantascope.explorer.forest_run import ForestRun
from quantascope.explorer.guided_run import GuidedNetworkRun
from quantascope.explorer.program import execute, program
from quantascope.explorer.program_run import ProgramRun
from quantascope.explorer.quanta import layers, quanta, quantum
from quantascope.explorer.request import Request, UnknownAddress
from quantascope.explorer.shown_run import THERE, Availability, ShownRun
from quantascope.explorer.source_run import SourceRun
from quantascope.explorer.tracing import inputs, intervened, previewed, traced, units
from quantascope.explorer.training import interval, training
from quantascope.runs.errors import one_line

NO_CLAIMS = Availability("There are no committed results; give --results FOLDER.")
Claims = Callable[[], list[dict[str, Any]]]
"""A function that returns the rows of the scoreboard."""
Drawing = Callable[[str], str]
"""A function that returns the drawing of a claim as a data URL."""


_WHOSE = {
    "training": "a source",
    "quanta": "a source",
    "trace": "a source",
    "intervene": "a source",
    "program": "the compiled Q-model of a program",
    "dynamics": "a network that learned a forest of tasks",
}
"""What a view shows, of those that a kind of run has."""


@dataclass(frozen=True)
class Answer:
    """The function that answers an address, and its parameters."""

    make: Callable[..., Any]
    parameters: tuple[str, ...] = ()


OF_RUNS: Mapping[type[ShownRun], Mapping[str, Answer]] = {
    SourceRun: {
        "training": Answer(training),
        "interval": Answer(interval, ("from", "to", "offset")),
        "quanta": Answer(quanta),
        "layers": Answer(layers),
        "quantum": Answer(quantum, ("name",)),
        "events": Answer(events, ("name", "which", "offset")),
        "inputs": Answer(inputs),
        "trace": Answer(traced, ("input", "preset")),
        "units": Answer(units, ("preset",)),
        "preview": Answer(previewed, ("input", "unit", "preset")),
        "intervene": Answer(intervened, ("units", "panel", "input", "preset")),
    },
    ProgramRun: {"program": Answer(program), "execute": Answer(execute, ("input",))},
    ForestRun: {"dynamics": Answer(dynamics)},
    GuidedNetworkRun: {},
}
"""The routes below /api/runs/NUMBER/, by kind of run."""


@dataclass(frozen=True, eq=False)
class Explorer:
    """Runs that are shown together, with optional functions for claims."""

    runs: Sequence[ShownRun]
    command: str
    claims: Claims | None = None
    drawing: Drawing | None = None
    _working: threading.RLock = field(default_factory=threading.RLock)
    """Answers are computed one at a time, because they share caches and the processor."""

    def answer(self, asked: Request) -> Any:
        """The answer to a request."""
        with self._working:
            first, *rest = asked.path.split("/")
            if first == "runs" and len(rest) == 2:
                run = self._run(rest[0])
                found = OF_RUNS[type(run)].get(rest[1])
                if found:
                    asked.only(found.parameters)
                    return found.make(run, asked) if found.parameters else found.make(run)
            elif not rest and first in OF_ALL:
                asked.only(OF_ALL[first].parameters)
                return OF_ALL[first].make(self, asked)
            raise UnknownAddress(f"there is nothing at /api/{one_line(asked.path, 100)}")

    def _run(self, identity: str) -> ShownRun:
        for run in self.runs:
            if run.id == identity:
                return run
        raise UnknownAddress(f"there is no run '{one_line(identity, 60)}'; there are 0 to {len(self.runs) - 1}")

    def _index(self, asked: Request) -> dict[str, Any]:
        """The runs with their views and their damaged files."""
        damaged: list[str] = []
        shown = []
        looks = [run.look() for run in self.runs]
        elsewhere = {
            name: self._elsewhere(
                name, [run.title for run, look in zip(self.runs, looks, strict=True) if name in look[0]]
            )
            for name in _WHOSE
        }
        for run, (own, broken) in zip(self.runs, looks, strict=True):
            damaged += map(run.without_path, broken)
            views = {**elsewhere, **own, "compare": self._comparable(run), "claims": self._has_claims()}
            shown.append(
                {
                    "id": run.id,
                    "title": run.title,
                    "kind": run.kind,
                    "views": {name: view.to_json(run.without_path) for name, view in views.items()},
                }
            )
        return {"runs": shown, "command": self.command, "damaged": list(dict.fromkeys(damaged))}

    def _elsewhere(self, view: str, titles: Sequence[str]) -> Availability:
        """What a run that is not of a view's kind says: which of the others are."""
        shows = f"{view.capitalize()} shows {_WHOSE[view]}"
        if titles:
            return Availability(f"{shows}; choose {' or '.join(dict.fromkeys(titles))} as the run.")
        return Availability(f"{shows}; open one.", f"{self.command} ANOTHER")

    def _comparable(self, run: ShownRun) -> Availability:
        if len(comparable(self.runs, run)) > 1:
            return THERE
        command = f"{self.command} ANOTHER"
        return Availability("There is no other run of this kind to compare with; open another one.", command)

    def _compare(self, asked: Request) -> dict[str, Any]:
        return compare([self._run(one) for one in asked.text("runs").split(",")])

    def _has_claims(self) -> Availability:
        return THERE if self.claims else NO_CLAIMS

    def _claims(self, asked: Request) -> list[dict[str, Any]]:
        return self.claims() if self.claims else []

    def _drawing(self, asked: Request) -> dict[str, Any]:
        name = asked.text("claim")
        known = {row["claim"] for row in self._claims(asked)}
        if self.drawing is None or name not in known:
            raise UnknownAddress(f"there is no drawing of '{one_line(name, 60)}'")
        return {"drawing": self.drawing(name)}


OF_ALL: Mapping[str, Answer] = {
    "index": Answer(Explorer._index),
    "compare": Answer(Explorer._compare, ("runs",)),
    "claims": Answer(Explorer._claims),
    "drawing": Answer(Explorer._drawing, ("claim",)),
}
"""The routes directly below /api/."""
