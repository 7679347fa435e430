"""The code of a forked child, from the fork to its end."""

import contextlib
import ctypes
import faulthandler
import gc
import mmap
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, no_type_check

from quantascope.runs.isolation.progress import Progress
from quantascope.runs.isolation.results import Shared, sent_error, sent_result

MEMORY = 4 << 30
"""Bytes of memory that a child may use beyond its parent's."""
ASK = getattr(signal, "SIGUSR1", 0)
"""The signal on which a child writes its stack and ends."""

_PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
_SET_DEATH_SIGNAL = 1


class Pipes(NamedTuple):
    """The pipes of a child: its result, its output, and its stack when it is terminated."""

    result: int
    output: int
    place: int


class Heritage(NamedTuple):
    """What a child needs to know about its parent."""

    parent: int
    chance: Any
    """The state of `random`, which Python seeds anew in a forked process."""
    shared: Shared


def live(work: Callable[[Progress], Any], progress: Progress, pipes: Pipes, heritage: Heritage) -> NoReturn:
    """Do the work, send its result and exit; this never returns to the parent's code."""
    code = 1
    try:
        _die_with(heritage.parent)
        _leave_the_parent(pipes)
        random.setstate(heritage.chance)
        _send(pipes.result, _outcome(work, progress, heritage.shared))
        code = 0
    finally:
        os._exit(code)


def _outcome(work: Callable[[Progress], Any], progress: Progress, shared: Shared) -> bytes:
    unbound = _bound_memory()
    progress.again()
    try:
        result = _with_room(work, progress)
    except BaseException as error:
        unbound()
        return sent_error(error, shared)
    unbound()
    progress.again()
    return sent_result(result, shared)


@no_type_check
def _with_room(work, progress):
    """Call `work` with a megabyte for frames in one piece.

    CPython keeps frames in pieces of 16 KB. A loop whose calls cross the end of one maps and unmaps memory at
    every call, which can double its time. A frame that says it needs this much makes the piece large.
    """
    return work(progress)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=1 << 17)


def _send(end: int, sent: bytes) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    left = memoryview(sent)
    while left:
        left = left[os.write(end, left) :]


def _die_with(parent: int) -> None:
    """End when the parent ends."""
    if _PRCTL is not None:
        _PRCTL(_SET_DEATH_SIGNAL, signal.SIGKILL)
    else:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _leave_the_parent(pipes: Pipes) -> None:
    """Detach from the parent's terminal, signal handlers and streams, and freeze its garbage."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, ASK):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    faulthandler.disable()  # enabling what is enabled would leave the handlers to whoever has taken them since
    faulthandler.enable(pipes.place, all_threads=False)
    faulthandler.register(ASK, pipes.place, all_threads=False, chain=True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(pipes.output, 1)
    os.dup2(pipes.output, 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    gc.freeze()


def _bound_memory() -> Callable[[], None]:
    """Limit the memory; returns a function that lifts the limit, so that an error can be reported."""
    import resource  # not available on every system

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = pages * mmap.PAGESIZE + MEMORY
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    except (OSError, ValueError):
        return lambda: None  # the system cannot read or limit it
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
