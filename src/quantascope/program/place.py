"""File and line of the user's code, for complaints."""

import os
import sys
import sysconfig
import traceback
from types import FrameType

_BETWEEN = (f"{__package__}.", "jaxtyping.", "beartype.")
"""Modules whose frames may lie between a program and a complaint: these, and checkers that wrap functions."""
_LIBRARIES = ("<", *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")))


def place_in_program() -> str:
    """Where the program is right now."""
    frame = sys._getframe(1)
    while frame.f_back is not None and not _is_program(frame):
        frame = frame.f_back
    return _shown(frame.f_code.co_filename, frame.f_lineno)


def place_of(error: BaseException) -> str:
    """The innermost line of the program that led to an error, or of whatever raised it."""
    trail = [(frame, line or 0) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [step for step in trail if _is_program(step[0]) and not _is_library(step[0])]
    frame, line = (own or trail)[-1]
    return _shown(frame.f_code.co_filename, line)


def _is_program(frame: FrameType) -> bool:
    return not frame.f_globals.get("__name__", "").startswith(_BETWEEN)


def _is_library(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_LIBRARIES)


def _shown(file: str, line: int) -> str:
    near = os.path.relpath(file)
    return f"{file if near.startswith(os.pardir) else near}:{line}"
