"""`GuidedNetworkRun`: a network that was trained with a program's guidance, or without for comparison."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from quantascope.explorer.shown_run import Availability, ShownRun, trouble
from quantascope.guidance.guide import RESULT
from quantascope.guidance.learner import GuidedLearner
from quantascope.runs.accuracy import read_accuracy
from quantascope.runs.run_directory import read_run


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidedNetworkRun(ShownRun):
    """A run of `quantascope guide`."""

    kind: ClassVar[str] = "guided"

    @property
    def accuracy(self) -> dict[str, float]:
        """The network's accuracies."""
        config = read_run(Path(self.where)).parse(GuidedLearner, make="quantascope guide")
        return read_accuracy(self.folder / RESULT, made_by=config.hash())

    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """No views of its own: it is only compared with other runs."""
        damage = trouble(lambda: self.accuracy)
        return {}, [damage] if damage else []
