"""`GateLabels`: for each prediction event, the active and eligible quanta, their outputs, and the emitter."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from quantascope.runs.errors import InvalidConfig

MOST_OUTCOMES = 20
"""Largest number of outcomes of a quantum with a semantic head and properties by outcome."""


@dataclass(frozen=True, eq=False)
class GateLabels:
    """Labels of gates, one row per event and one column per quantum.

    A quantum is eligible if all its direct parents are active. `outcome` is the number of an active quantum's
    value, −1 if it is inactive; `emitter` is the quantum that wrote the event's token.
    """

    active: Bool[np.ndarray, "events quanta"]
    eligible: Bool[np.ndarray, "events quanta"]
    outcome: Int[np.ndarray, "events quanta"]
    emitter: Int[np.ndarray, " events"]

    def __post_init__(self) -> None:
        if (self.active & ~self.eligible).any():
            event, quantum = np.argwhere(self.active & ~self.eligible)[0].tolist()
            raise InvalidConfig(f"quantum {quantum} is active in event {event} without a parent; activate it too")
        if ((self.outcome >= 0) != self.active).any():
            raise InvalidConfig("an outcome without an active quantum, or the reverse; use -1 where inactive")

    def __len__(self) -> int:
        return len(self.emitter)
