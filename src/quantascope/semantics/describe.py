"""The search for a description: one atom, or two joined by "and" or "or" (paper, section 5.2).

atoms     ranked by their F1 as predictions of the unit's activity; the best 16 are kept
all       single atoms, and every pair of them joined by "and" and by "or"
choose    the highest F1 − 0.02 · (literals − 1); of equal ones the shorter, then the one with better atoms

Only counts matter: those of a pair are one small matrix product, and "or" follows from "and".
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig
from quantascope.semantics.score import f1
from quantascope.semantics.units import Units

MOST_ATOMS = 16
COST = 0.02
"""Least gain in F1 for which a second literal is added."""


@dataclass(frozen=True)
class Description:
    """One atom, or two joined by "and" or "or".

    >>> print(Description(("emit value", "chunk has hundreds"), "and"))
    emit value and chunk has hundreds
    """

    atoms: tuple[str, ...]
    joined: Literal["and", "or"] | None = None

    def __post_init__(self) -> None:
        if len(self.atoms) != (1 if self.joined is None else 2):
            raise InvalidConfig(f"{len(self.atoms)} atoms joined by {self.joined}; give one, or two with and/or")

    def __str__(self) -> str:
        return f" {self.joined} ".join(self.atoms)

    def holds(self, properties: Properties) -> Bool[np.ndarray, " events"]:
        """The events for which the description holds."""
        values = [properties.atom(atom) for atom in self.atoms]
        return np.logical_and.reduce(values) if self.joined == "and" else np.logical_or.reduce(values)


def describe(properties: Properties, units: Units) -> list[Description]:
    """The best description of each unit on its judged events."""
    # Sums of up to 2^24 zeros and ones are exact in single precision.
    values = properties.values.astype(np.float32)
    active, judged = units.active.astype(np.float32), units.judged.astype(np.float32)
    single = f1(active @ values.T, judged @ values.T, active.sum(1)[:, None])
    ranked = np.argsort(-single, axis=1, kind="stable")[:, :MOST_ATOMS]
    return [_best(properties, best, values[best], active[unit], judged[unit]) for unit, best in enumerate(ranked)]


def _best(
    properties: Properties,
    ranked: np.ndarray,
    values: Float[np.ndarray, "best events"],
    active: Float[np.ndarray, " events"],
    judged: Float[np.ndarray, " events"],
) -> Description:
    both, described = (values * active) @ values.T, (values * judged) @ values.T
    one, other = np.triu_indices(len(values), 1)
    either = [np.diag(table)[one] + np.diag(table)[other] - table[one, other] for table in (both, described)]
    scores = [
        f1(np.diag(both), np.diag(described), active.sum(keepdims=True)),
        f1(both[one, other], described[one, other], active.sum(keepdims=True)) - COST,
        f1(either[0], either[1], active.sum(keepdims=True)) - COST,
    ]
    best = int(np.concatenate(scores).argmax())
    names = [properties.names[atom] for atom in ranked.tolist()]
    if best < len(values):
        return Description((names[best],))
    how, pair = divmod(best - len(values), len(one))
    return Description((names[one[pair]], names[other[pair]]), "or" if how else "and")
