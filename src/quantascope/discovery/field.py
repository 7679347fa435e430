"""`PriorityField`: credit by layer, event and interval, with its reliability and its file."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float, Int

from quantascope.discovery.interval import Rule
from quantascope.discovery.linearized import Derivatives
from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact, RunMismatch
from quantascope.runs.files import RUN_AGAIN
from quantascope.runs.structure import check_tensors, is_named
from quantascope.sources.losses import examples_digest
from quantascope.tasks.task import Examples

_TENSORS = {
    "steps": "int checkpoints",
    "values": "float layers events intervals",
    "other": "float events intervals",
    "losses": "float events checkpoints",
}
LEAST_CORRELATION = 0.8
"""A reliable field sums to the loss change within a factor of two and correlates with it over events."""


@dataclass(frozen=True, eq=False)
class PriorityField:
    """Credit of every event in every interval, by layer, and the losses whose change it explains."""

    rule: Rule
    layers: tuple[str, ...]
    steps: Int[np.ndarray, " checkpoints"]
    values: Float[np.ndarray, "layers events intervals"]
    other: Float[np.ndarray, "events intervals"]
    losses: Float[np.ndarray, "events checkpoints"]
    derivatives: Derivatives = "backward"
    """How the derivatives were computed."""
    examples: str | None = None
    """A digest of the measured examples, if they consist of tensors."""

    @property
    def total(self) -> Float[np.ndarray, "events intervals"]:
        """Credit through all parameters."""
        return self.values.sum(0) + self.other

    @property
    def loss_change(self) -> Float[np.ndarray, "events intervals"]:
        """Decrease of each event's loss in each interval."""
        return -np.diff(self.losses, axis=1)

    @property
    def completeness(self) -> float:
        """Total credit divided by the total decrease of the loss: 1 if exact, NaN if the loss did not change."""
        change = float(self.loss_change.sum(dtype=np.float64))
        return float(self.total.sum(dtype=np.float64)) / change if change else math.nan

    @property
    def event_correlation(self) -> float:
        """Correlation of credit and true loss decrease over events and intervals; NaN if either is constant."""
        if not self.total.std() or not self.loss_change.std():
            return math.nan
        return float(np.corrcoef(self.total.ravel(), self.loss_change.ravel())[0, 1])

    @property
    def reliable(self) -> bool:
        """Whether factors of this field can be called quanta."""
        return 0.5 <= self.completeness <= 2 and self.event_correlation >= LEAST_CORRELATION

    @property
    def warning(self) -> str:
        """The problem of an unreliable field and its remedy; empty for a reliable field."""
        if self.reliable:
            return ""
        remedy = "use the path rule, or check" if self.rule == "gradient" else "check"
        return (
            f"the {self.rule} rule accounts for {self.completeness:.2f} of the loss change, correlation "
            f"{self.event_correlation:.2f} by event: factors of this field are not quanta; {remedy} the "
            "trajectory with quantascope audit FOLDER"
        )

    def save(self, file: Path, *, made_by: str, **about: Any) -> None:
        """Save the field as an artefact, with further facts about it."""
        arrays = {name: getattr(self, name) for name in _TENSORS}
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        facts = {"rule": self.rule, "layers": list(self.layers), "derivatives": self.derivatives}
        facts |= {"count": self.values.shape[1], "examples": self.examples}
        write_tensors(file, tensors, made_by=made_by, **facts, **about)

    @classmethod
    def load(cls, file: Path, *, made_by: str | None = None, events: Examples | None = None) -> "PriorityField":
        """Load the field of an artefact; raises if `events` are given and the field is of other events."""
        tensors, about = read_tensors(file, made_by=made_by)
        rule: Any = about.get("rule")
        layers: Any = about.get("layers")
        form: Any = about.get("derivatives", "backward")
        if rule not in get_args(Rule) or form not in get_args(Derivatives) or not is_named(layers):
            raise DamagedArtefact(
                f"{file} is not a priority field: its rule, layers and derivatives are missing; {RUN_AGAIN}"
            )
        check_tensors(file, tensors, _TENSORS, sizes={"layers": len(layers)})
        found = cls(
            rule=rule,
            layers=tuple(layers),
            derivatives=form,
            examples=about.get("examples"),
            **{name: tensors[name].numpy() for name in _TENSORS},
        )
        if found.losses.shape[1] != found.values.shape[2] + 1:
            raise DamagedArtefact(
                f"{file} does not have one interval per pair of successive checkpoints; {RUN_AGAIN}"
            )
        asked = None if events is None else examples_digest(events)
        if asked is not None and found.examples not in (None, asked):
            raise RunMismatch(
                f"{file} is the field of {found.values.shape[1]} events of other examples; measure these into "
                "another file, or move it away"
            )
        return found
