"""Ctrl-C and the system's request to end, met between two steps.

A signal in the middle of an update would leave parameters and moments that belong to different steps. Inside
`deferred`, the first signal is only noted; the loop asks for it when its state is whole, saves, and stops.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Whether an end was asked for, as a function; outside the main thread, where no signal comes, never."""
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
