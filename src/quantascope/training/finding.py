"""One thing that is wrong with a trajectory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a trajectory."""

    kind: str
    step: int | None
    says: str
