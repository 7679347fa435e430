"""Handles Ctrl-C and SIGTERM between two steps.

A signal in the middle of an update would leave parameters and moments that belong to different steps. Inside
`deferred`, the first signal is only recorded; the loop checks for it when its state is consistent, saves, and
stops.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether to stop; outside the main thread it always returns False."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: asked.set())
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
