"""The ways a child ends without a result, with its location."""

import os
import re
import sysconfig
from pathlib import Path
from typing import NamedTuple

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = (_PACKAGE, *(sysconfig.get_path(kind) + os.sep for kind in ("stdlib", "purelib", "platlib")))
_CHECKERS = ("<@beartype", "<frozen")
_LINE = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


class Frame(NamedTuple):
    """A line of a function that was running."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        near = os.path.relpath(self.file)
        return f"{self.file if self.file.startswith('<') or near.startswith(os.pardir) else near}:{self.line}"


def frames_in(dump: str) -> tuple[Frame, ...]:
    """The frames that `faulthandler` wrote, innermost first."""
    return tuple(Frame(file, int(line), function) for file, line, function in _LINE.findall(dump))


class Ended(Exception):
    """What happened to the child, the numbers of its last step, and its frames, innermost first."""

    def __init__(self, what: str, item: int, part: int, frames: tuple[Frame, ...]) -> None:
        super().__init__(what)
        self.what, self.item, self.part, self.frames = what, item, part, frames

    @property
    def place(self) -> str:
        """` at FILE:LINE`, the innermost line of the user's code, or an empty string if unknown."""
        files = [frame for frame in self.frames if not frame.file.startswith(("<", *_LIBRARIES))]
        typed = [frame for frame in self.frames if not frame.file.startswith((*_CHECKERS, *_LIBRARIES))]
        return f" at {(files or typed)[0]}" if files or typed else ""


class TimedOut(Ended):
    """The child made no progress for too long."""


class Crashed(Ended):
    """The child exited by itself: `os._exit`, abort, a segmentation fault."""
