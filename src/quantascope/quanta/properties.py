"""`Properties`: named Boolean atoms of prediction events, used to describe units.

A task supplies columns, one value per event, and a library that puts each column into words. A column of truth
values is one atom; any other column is one atom for each of its values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from quantascope.runs.errors import InvalidConfig


@dataclass(frozen=True, eq=False)
class Properties:
    """Atoms by row, events by column; `example` is the input that an event belongs to.

    >>> words = Properties.of(
    ...     {"word": ["two", "END", "ten", "END"], "last": [False, True] * 2, "digit": [2, None, 1, None]},
    ...     {"word": "writes {}", "last": "last word", "digit": "reads {}"},
    ...     example=[0, 0, 1, 1],
    ... )
    >>> words.names
    ('writes two', 'writes END', 'writes ten', 'last word', 'reads 2', 'reads 1')
    >>> words.atom("last word")
    array([False,  True, False,  True])
    """

    names: tuple[str, ...]
    values: Bool[np.ndarray, "atoms events"]
    example: Int[np.ndarray, " events"]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.values):
            raise InvalidConfig(f"{len(self.names)} names for {len(self.values)} atoms; name each atom once")
        double = next((name for place, name in enumerate(self.names) if name in self.names[:place]), None)
        if double is not None:
            raise InvalidConfig(f"two atoms are named '{double}'; give each its own words")
        if not self.values.shape[1]:
            raise InvalidConfig("a property table without events describes nothing; give at least one event")
        for name in ("values", "example"):
            frozen = getattr(self, name).view()
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)

    @classmethod
    def of(
        cls, columns: Mapping[str, Sequence[Any]], library: Mapping[str, str], example: Sequence[int]
    ) -> "Properties":
        """The atoms of columns, in the order of the library; None is no value.

        A phrase of the library contains {} for the value; a phrase without {} belongs to a Boolean column.
        """
        atoms: list[tuple[str, list[bool]]] = []
        for column, phrase in library.items():
            if column not in columns:
                raise InvalidConfig(
                    f"there is no column '{column}' of the library; there are {', '.join(columns)}"
                )
            values = columns[column]
            if len(values) != len(example):
                raise InvalidConfig(f"column '{column}' has {len(values)} values for {len(example)} events")
            seen = [value for value in dict.fromkeys(values) if value is not None]
            if "{}" in phrase:
                atoms += [(phrase.format(value), [other == value for other in values]) for value in seen]
            elif all(value in (False, True) for value in seen):
                atoms.append((phrase, [bool(value) for value in values]))
            else:
                raise InvalidConfig(f"column '{column}' is not Boolean; put {{}} into its phrase '{phrase}'")
        return cls(
            names=tuple(name for name, _ in atoms),
            values=np.array([values for _, values in atoms], dtype=bool).reshape(len(atoms), len(example)),
            example=np.array(example, dtype=np.int64),
        )

    def __len__(self) -> int:
        """Number of atoms."""
        return len(self.names)

    @property
    def events(self) -> int:
        """Number of events."""
        return self.values.shape[1]

    def atom(self, name: str) -> Bool[np.ndarray, " events"]:
        """The events that have a property."""
        if name not in self.names:
            raise InvalidConfig(f"there is no property '{name}'; {len(self.names)} others are known")
        return self.values[self.names.index(name)]

    def chosen(self, names: Sequence[str]) -> "Properties":
        """The table with only these atoms, in this order."""
        return Properties(
            tuple(names), np.array([self.atom(name) for name in names]).reshape(-1, self.events), self.example
        )
