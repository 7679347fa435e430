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
        """The measurements made during training."""
        folder = Path(self.where)
        files = [folder / "config.json", folder / METRICS]
        return self.kept.get("curves", lambda: read_curves(folder), files=files)

    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """The dynamics view, or the damaged files."""
        damage = trouble(lambda: self.curves)
        found = Availability(damage) if damage else THERE
        return {"dynamics": found}, [damage] if damage else []


def node_name(node: int) -> str:
    """The name of a node."""
    return f"T{node}"


def parent_name(forest: Forest, node: int) -> str | None:
    """The name of a node's parent; None for a root."""
    above = int(forest.parent[node])
    return node_name(above) if above >= 0 else None
