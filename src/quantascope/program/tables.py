"""`Tables`: a cache of results about large plain containers, so that a lookup in one does not read all of it.

A container is identified by its identity and length. A container of n parts is read again after n/16 uses, so that
a use takes constant time on average and a change of its parts is noticed eventually.
"""

from typing import Any, no_type_check

LARGE = 64
"""Containers with fewer parts are read at every use."""
_MOST_KEPT = 64
_USES_PER_PART = 1 / 16


@no_type_check
class Tables:
    """Recent large containers, each with its length, the uses left until it is read again, and the result."""

    def __init__(self) -> None:
        self._kept: dict[int, list[Any]] = {}

    def find(self, table: Any) -> Any:
        """The cached result for a container, or None if it has to be read."""
        known = self._kept.get(id(table))
        if known is None or known[2] == 0 or known[1] != _length(table):
            return None
        known[2] -= 1
        return known[3]

    def keep(self, table: Any, found: Any, parts: int) -> None:
        """Cache the result for a container, if it has many parts."""
        if parts < LARGE:
            return
        self._kept.pop(id(table), None)
        if len(self._kept) == _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[id(table)] = [table, _length(table), int(parts * _USES_PER_PART), found]

    def at(self, address: int) -> Any:
        """The cached container at an address, or None."""
        known = self._kept.get(address)
        return None if known is None else known[0]


@no_type_check
def _length(table: Any) -> int:
    return len(table) if hasattr(table, "__len__") else 0
