"""`Progress`: what a child is at, in memory that its parent sees."""

import mmap
from typing import no_type_check


@no_type_check
class Progress:
    """A count of the steps that have begun, and two numbers that say which the last one is."""

    def __init__(self) -> None:
        self._cells = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")

    def at(self, item: int, part: int = 0) -> None:
        """A step begins; each has its own time."""
        cells = self._cells
        cells[1] = item
        cells[2] = part
        cells[0] += 1

    def again(self) -> None:
        """Another step of the same numbers begins."""
        self._cells[0] += 1

    def read(self) -> tuple[int, int, int]:
        """How many steps have begun, and the numbers of the last."""
        return self._cells[0], self._cells[1], self._cells[2]
