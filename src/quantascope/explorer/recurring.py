"""Matches quanta of several runs by their supports on the same events, with the level of chance."""

from collections.abc import Sequence
from dataclasses import dataclass

from quantascope.discovery import Recurrence, recurrence
from quantascope.discovery.discover import FACTORS
from quantascope.explorer.shown_run import trouble
from quantascope.explorer.source_run import SourceRun
from quantascope.sources.losses import examples_digest

PERMUTATIONS, FEW_PERMUTATIONS = 200, 20
MANY = 2_000_000
"""Number of quanta times events above which chance is estimated from few permutations."""


@dataclass(frozen=True, eq=False)
class Recurring:
    """Runs whose quanta can be matched, in order, with the recurrence of each."""

    runs: tuple[SourceRun, ...]
    found: tuple[Recurrence, ...]
    permutations: int

    def of(self, run: SourceRun) -> Recurrence | None:
        """The recurrence of a run's quanta; None if it is not among these runs."""
        return self.found[self.runs.index(run)] if run in self.runs else None


def matched(runs: Sequence[SourceRun]) -> Recurring | None:
    """The quanta of all runs with the same training events as the first; None if there is no other."""
    ready = [run for run in runs if trouble(lambda run=run: run.discovery) is None]
    if not ready:
        return None
    events = examples_digest(ready[0].source.examples())
    alike = tuple(run for run in ready if examples_digest(run.source.examples()) == events)
    if events is None or len(alike) < 2:
        return None

    def match() -> Recurring:
        factors = [run.discovery.factors for run in alike]
        size = max(one.supports.size for one in factors)
        permutations = PERMUTATIONS if size < MANY else FEW_PERMUTATIONS
        return Recurring(alike, tuple(recurrence(factors, permutations=permutations)), permutations)

    files = [run.folder / FACTORS for run in alike]
    return ready[0].kept.get("matched " + " ".join(run.id for run in alike), match, files=files)
