"""`Units`: the activity of each unit of a model, and the events on which it is judged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig

LEAST = 20
"""An atom is kept if at least this many events have it, and as many do not, in both panels."""


@dataclass(frozen=True, eq=False)
class Units:
    """Activity of units on the events of a panel.

    A gate is judged on all events. A writer is judged where its owner is active, since it is silent elsewhere.
    """

    names: tuple[str, ...]
    active: Bool[np.ndarray, "units events"]
    judged: Bool[np.ndarray, "units events"]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.active) == len(self.judged):
            raise InvalidConfig(f"{len(self.names)} names for {len(self.active)} units; name each unit once")
        outside = (self.active & ~self.judged).any(1)
        if outside.any():
            raise InvalidConfig(
                f"{self.names[int(outside.argmax())]} is active where its owner is not; mask it by its owner"
            )

    @classmethod
    def of(cls, names: Sequence[str], active: Bool[np.ndarray, "units events"]) -> "Units":
        """Units that are judged on all events."""
        return cls(tuple(names), active, np.ones_like(active))

    @classmethod
    def owned(
        cls,
        names: Sequence[str],
        active: Bool[np.ndarray, "units events"],
        owner: Int[np.ndarray, " units"],
        gates: Bool[np.ndarray, "quanta events"],
    ) -> "Units":
        """Writers that are judged where the gate of their owner is open.

        >>> gate = np.array([[True, True, False]])
        >>> Units.owned(["L0.Q0.W0"], np.array([[True, False, False]]), np.array([0]), gate).judged
        array([[ True,  True, False]])
        """
        return cls(tuple(names), active, gates[owner])

    def __len__(self) -> int:
        return len(self.names)

    @property
    def constant(self) -> Bool[np.ndarray, " units"]:
        """Units that are always or never active where they are judged."""
        seen = self.active.sum(1)
        return (seen == 0) | (seen == self.judged.sum(1))


def shared_atoms(
    calibration: Properties, test: Properties, *, least: int = LEAST
) -> tuple[Properties, Properties]:
    """Both tables with the atoms that are testable in both: enough events with and without each.

    Of atoms that hold on the same events, the first is kept: a duplicate would displace another atom.

    >>> values = np.array([[1, 0] * 30, [1, 0] * 30, [1] * 60]) > 0
    >>> both = Properties(("odd", "not even", "any"), values, np.arange(60))
    >>> shared_atoms(both, both)[0].names
    ('odd',)
    """
    kept: dict[bytes, str] = {}
    for name, values in zip(calibration.names, calibration.values, strict=True):
        if name in test.names:
            tested = test.atom(name)
            if all(least <= panel.sum() <= len(panel) - least for panel in (values, tested)):
                kept.setdefault(values.tobytes() + tested.tobytes(), name)
    if not kept:
        raise InvalidConfig(
            f"none of {len(calibration)} atoms has {least} events with and {least} without it in both panels; "
            "give more events or other properties"
        )
    names = list(kept.values())
    return calibration.chosen(names), test.chosen(names)
