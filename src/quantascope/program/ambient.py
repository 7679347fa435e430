"""`Ambient`: detects when a program reads the clock, the environment or process state, which are not inputs."""

import datetime
import os
import sys
import time
from types import FrameType
from typing import Any, no_type_check

from quantascope.program.place import is_of_program, place_in_program

_CLOCK = ("time", "monotonic", "perf_counter", "process_time")
_READS = {
    **{getattr(time, name + unit): "the clock" for name in _CLOCK for unit in ("", "_ns")},
    time.localtime: "the clock",
    datetime.datetime.now: "the clock",
    datetime.datetime.utcnow: "the clock",
    datetime.datetime.today: "the clock",
    datetime.date.today: "the clock",
    os.urandom: "chance",
    os.getpid: "its process",
    os.getppid: "its process",
    os.getcwd: "its folder",
    id: "an address in memory",
}
_ENVIRONMENT = type(os.environ).__getitem__.__code__
_OF_ENVIRONMENT = ("os", "collections.abc", "_collections_abc")


@no_type_check
class Ambient:
    """Context manager that records the program's first ambient read and its line; ignores libraries."""

    def __init__(self) -> None:
        self.found: tuple[str, str] | None = None

    def __enter__(self) -> "Ambient":
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called in _READS:
            self._note(_READS[called], frame)
        elif event == "call" and frame.f_code is _ENVIRONMENT:
            caller = frame.f_back
            while caller is not None and caller.f_globals.get("__name__") in _OF_ENVIRONMENT:
                caller = caller.f_back
            self._note("the environment", caller)

    def _note(self, what: str, frame: FrameType | None) -> None:
        if frame is not None and is_of_program(frame):
            self.found = self.found or (what, place_in_program(frame))
