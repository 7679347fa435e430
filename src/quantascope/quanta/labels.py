"""`GateLabels`: for each prediction event, which quanta run, which could, what they find, and which one writes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from quantascope.runs.errors import InvalidConfig

MOST_OUTCOMES = 20
"""A quantum with more outcomes has no semantic head and no properties by outcome: few events would share one."""


@dataclass(frozen=True, eq=False)
class GateLabels:
    """Labels of gates, one row per event and one column per quantum.

    An eligible quantum has all its direct parents active. `outcome` numbers the value that an active quantum
    found, −1 where it is inactive; `emitter` is the quantum that wrote the event's token.
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
