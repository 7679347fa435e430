"""`Ambient`: detects when a program reads the clock, the environment or process state, or shares a file.

These are not inputs. Calls are seen by a profiler, files by an audit hook. A file may be read, but not written,
nor read if it was written since the compiler began: one quantum could leave there what another finds.
"""

import datetime
import os
import stat
import sys
import time
from opcode import opmap
from pathlib import Path
from types import FrameType
from typing import Any, no_type_check

from quantascope.program.place import is_of_program, place_in_program

_CLOCK = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
_CLOCK_READS = [getattr(time, name + unit, None) for name in _CLOCK for unit in ("", "_ns")]
_READS = {
    **{function: "the clock" for function in _CLOCK_READS if function is not None},
    time.localtime: "the clock",
    datetime.datetime.now: "the clock",
    datetime.datetime.utcnow: "the clock",
    datetime.datetime.today: "the clock",
    datetime.date.today: "the clock",
    os.times: "the clock",
    os.urandom: "chance",
    os.getpid: "its process",
    os.getppid: "its process",
    os.getcwd: "its folder",
    id: "an address in memory",
}
_WITHOUT_A_TIME = {time.gmtime: 1, time.ctime: 1, time.asctime: 1, time.strftime: 2}
"""Functions that read the clock if they are called with fewer arguments than this."""
_ENVIRONMENT = type(os.environ).__getitem__.__code__
_OF_ENVIRONMENT = ("os", "collections.abc", "_collections_abc")
_CALLS = {opmap[name] for name in ("CALL", "CALL_KW") if name in opmap}

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    ("os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "os.utime")
)
_IMPORT = "<frozen importlib"


@no_type_check
class Ambient:
    """Context manager that records the program's first ambient access and its line.

    Reads of the clock and the environment by libraries are ignored, files are not. `since` is the time in
    nanoseconds at which the compiler began.
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self.found: tuple[str, str] | None = None

    def __enter__(self) -> "Ambient":
        global _listening
        if not _hooked:
            sys.addaudithook(_hear)
            _hooked.append(True)
        _listening = self
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        global _listening
        sys.setprofile(None)
        _listening = None

    def hear(self, event: str, given: tuple[Any, ...]) -> None:
        """Note an access to a file."""
        path = os.fsdecode(given[0]) if isinstance(given[0], (str, bytes, os.PathLike)) else None
        if path is None or self.found is not None:
            return
        if event in _CHANGES or (event == "open" and given[2] & _WRITING):
            if not _is_device(path) and not _is_import(sys._getframe(2)):
                self.found = f"changes the file {path!r}", place_in_program(sys._getframe(2))
        elif _changed(path) >= self._since and not _is_import(sys._getframe(2)):
            what = f"reads the file {path!r}, which was written since the compiler began,"
            self.found = what, place_in_program(sys._getframe(2))

    def _see(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            if called in _READS:
                self._note(_READS[called], frame)
            elif called in _WITHOUT_A_TIME and _arguments(frame) < _WITHOUT_A_TIME[called]:
                self._note("the clock", frame)
        elif event == "call" and frame.f_code is _ENVIRONMENT:
            caller = frame.f_back
            while caller is not None and caller.f_globals.get("__name__") in _OF_ENVIRONMENT:
                caller = caller.f_back
            self._note("the environment", caller)

    def _note(self, what: str, frame: FrameType | None) -> None:
        if frame is not None and is_of_program(frame):
            self.found = self.found or (f"reads {what}", place_in_program(frame))


_hooked: list[bool] = []
"""Whether the hook is installed in this process, where it stays."""
_listening: Ambient | None = None
_FILES = _CHANGES | {"open", "sqlite3.connect"}


@no_type_check
def _hear(event: str, given: tuple[Any, ...]) -> None:
    if _listening is not None and event in _FILES:
        _listening.hear(event, given)


def _is_device(path: str) -> bool:
    """Whether a path is a device such as /dev/null."""
    found = _status(path)
    return found is not None and stat.S_ISCHR(found.st_mode)


def _changed(path: str) -> int:
    """The time at which a file was last changed, in nanoseconds; 0 for what is no file."""
    found = _status(path)
    return 0 if found is None or not stat.S_ISREG(found.st_mode) else max(found.st_mtime_ns, found.st_ctime_ns)


def _status(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except (OSError, ValueError):
        return None


def _is_import(frame: FrameType | None) -> bool:
    """Whether an import reads or writes this file, not the program."""
    while frame is not None and not is_of_program(frame):
        if frame.f_code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False


def _arguments(frame: FrameType) -> int:
    """The number of arguments of the call that a frame is making, or a large number if that cannot be read."""
    code, place = frame.f_code.co_code, frame.f_lasti
    return code[place + 1] if code[place] in _CALLS else 255
