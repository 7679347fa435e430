"""`Progress`: the current step of a child, in memory shared with its parent."""

import mmap
from typing import no_type_check


@no_type_check
class Progress:
    """The number of steps that have begun, and two numbers that identify the last one."""

    def __init__(self) -> None:
        self._cells = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")

    def at(self, item: int, part: int = 0) -> None:
        """Begin a step; the time limit applies to each step."""
        cells = self._cells
        cells[1] = item
        cells[2] = part
        cells[0] += 1

    def again(self) -> None:
        """Begin another step with the same numbers."""
        self._cells[0] += 1

    def read(self) -> tuple[int, int, int]:
        """The number of steps that have begun, and the numbers of the last."""
        return self._cells[0], self._cells[1], self._cells[2]
