"""`ForestRun`: a network that learned a forest of sparse parities."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from quantascope.acquisition.curves import LearningCurves
from quantascope.acquisition.learner import METRICS, read_curves
from quantascope.explorer.shown_run import THERE, Availability, ShownRun, trouble
from quantascope.tasks.hsp import Forest


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestRun(ShownRun):
    """A run of `train hsp`."""

    kind: ClassVar[str] = "forest"

    @property
    def curves(self) -> LearningCurves:
        """What was measured while the network learned."""
        folder = Path(self.where)
        files = [folder / "config.json", folder / METRICS]
        return self.kept.get("curves", lambda: read_curves(folder), files=files)

    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """The dynamics, or what is damaged."""
        damage = trouble(lambda: self.curves)
        found = Availability(damage) if damage else THERE
        return {"dynamics": found}, [damage] if damage else []


def node_name(node: int) -> str:
    """How a node of a forest is called."""
    return f"T{node}"


def parent_name(forest: Forest, node: int) -> str | None:
    """How the parent of a node is called; nothing for a root."""
    above = int(forest.parent[node])
    return node_name(above) if above >= 0 else None
