"""File and line of the user's code, for error messages."""

import os
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from types import FrameType

_BETWEEN = (f"{__package__}.", "quantascope.runs.isolation.", "jaxtyping.", "beartype.")
"""Modules whose frames may lie between a program and an error: these, and type checkers that wrap functions."""
_LIBRARIES = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib"))


def place_in_program(frame: FrameType | None = None) -> str:
    """The innermost program line that is running, or that led to a frame."""
    return _innermost(list(traceback.walk_stack(frame or sys._getframe(1)))[::-1])


def place_of(error: BaseException) -> str:
    """The innermost program line that led to an error, or else the line that raised it."""
    return _innermost(list(traceback.walk_tb(error.__traceback__)))


def is_in_program(error: BaseException) -> bool:
    """Whether an error was raised in the program's code or in code that it called."""
    return any(is_of_program(frame) for frame, _ in traceback.walk_tb(error.__traceback__))


def _innermost(trail: Sequence[tuple[FrameType, int | None]]) -> str:
    own = [step for step in trail if not _name(step[0]).startswith(_BETWEEN)]
    program = [step for step in own if not step[0].f_code.co_filename.startswith(("<", *_LIBRARIES))]
    frame, line = (program or own or trail)[-1]
    file = frame.f_code.co_filename
    near = os.path.relpath(file)
    return f"{file if near.startswith(os.pardir) else near}:{line}"


def is_of_program(frame: FrameType) -> bool:
    """Whether a frame belongs to a program, not to quantascope, a library or a type checker."""
    name, file = _name(frame), frame.f_code.co_filename
    ours = name.startswith("quantascope.") and not name.startswith("quantascope.programs.")
    return not (ours or name.startswith(_BETWEEN) or file.startswith(("<@", "<frozen", *_LIBRARIES)))


def _name(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
