"""`Tables`: what was found out about large plain containers, so that a lookup in one does not read all of it.

A container is known by its identity and length. It is read again after a sixteenth as many uses as it has parts,
so that uses take constant time on average and a change of its parts is noticed sooner or later.
"""

from typing import Any, no_type_check

LARGE = 64
"""Containers with fewer parts are read at every use."""
_MOST_KEPT = 64
_USES_PER_PART = 1 / 16


@no_type_check
class Tables:
    """The latest large containers, each with its length, the uses until it is read again, and what was found."""

    def __init__(self) -> None:
        self._kept: dict[int, list[Any]] = {}

    def find(self, table: Any) -> Any:
        """What is known of a container, or None if it has to be read."""
        known = self._kept.get(id(table))
        if known is None or known[2] == 0 or known[1] != _length(table):
            return None
        known[2] -= 1
        return known[3]

    def keep(self, table: Any, found: Any, parts: int) -> None:
        """Remember what was found of a container with so many parts, if it is large."""
        if parts < LARGE:
            return
        self._kept.pop(id(table), None)
        if len(self._kept) == _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[id(table)] = [table, _length(table), int(parts * _USES_PER_PART), found]

    def all(self) -> dict[int, Any]:
        """Every container that is kept, by address."""
        return {address: known[0] for address, known in self._kept.items()}


@no_type_check
def _length(table: Any) -> int:
    return len(table) if hasattr(table, "__len__") else 0
