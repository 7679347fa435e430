"""Ends a program that loops, and tells on which input.

A timer of the system looks from time to time whether the event that is being run has changed. Signals reach the
main thread only; elsewhere a looping program is not ended.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from quantascope.program.place import place_in_program
from quantascope.program.state import State
from quantascope.program.violations import NeverEnds

PATIENCE = 5.0
"""Seconds that one event may take."""


class _OutOfPatience(BaseException):
    """Not an Exception, so that `except Exception` does not hold it."""


class Watch:
    """What is being run right now."""

    state: State | None = None


@contextmanager
def patience() -> Iterator[Watch]:
    """Refuse any event that takes longer than PATIENCE, up to twice the time; set `watch.state` before each."""
    watch, seconds = Watch(), PATIENCE
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    seen: State | None = None
    ended: State | None = None

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal seen, ended
        if watch.state is not None and watch.state is seen:
            complaint = _OutOfPatience(place_in_program(frame))
            if watch.state is ended:
                _raise_at_next_line(frame, complaint)
            ended = watch.state
            raise complaint
        seen = watch.state

    tracing = sys.gettrace()
    handler = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield watch
    except _OutOfPatience as place:
        raise NeverEnds(
            f"runs for more than {seconds:g} seconds at {place}",
            "end its loop, or leave this input out",
            state=watch.state,
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        sys.settrace(tracing)


def _raise_at_next_line(frame: FrameType | None, complaint: _OutOfPatience) -> None:
    """Raise where a bare `except:` goes on after it has held the complaint once: from there nothing holds it."""

    def trace(_: FrameType, event: str, __: Any) -> Any:
        if event == "line":
            _watch_lines(frame, None)
            raise complaint
        return trace

    _watch_lines(frame, trace)
    sys.settrace(trace)


def _watch_lines(frame: FrameType | None, trace: Any) -> None:
    """Let `trace` see every line of a frame and of its callers; None to end it."""
    while frame is not None:
        frame.f_trace = trace
        frame = frame.f_back
