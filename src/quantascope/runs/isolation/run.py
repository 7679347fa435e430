"""`run_isolated`: runs a user's code in a child process and terminates it if necessary."""

import contextlib
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from quantascope.runs.errors import EngineFailed, InvalidConfig
from quantascope.runs.isolation.child import ASK, Heritage, Pipes, live
from quantascope.runs.isolation.ended import Crashed, TimedOut, frames_in
from quantascope.runs.isolation.progress import Progress
from quantascope.runs.isolation.results import Shared, is_whole, received_result

TIME_LIMIT = "QUANTASCOPE_TIME_LIMIT"
"""The environment variable for the seconds that a user's code may take without progress."""
OUTPUT = 10_000
"""Largest number of bytes of a child's output that are shown."""
TELLING = 0.5
"""Share of the time limit in which a terminated child may report its location."""

T = TypeVar("T")


def time_limit(default: float = 5.0) -> float:
    """The seconds that a user's code may take without progress, from QUANTASCOPE_TIME_LIMIT if it is set."""
    text = os.environ.get(TIME_LIMIT) or str(default)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidConfig(f"{TIME_LIMIT} is '{text}'; set it to a number of seconds above 0, or unset it")
    return seconds


def run_isolated(
    work: Callable[[Progress], T], *, seconds: float, shared: Iterable[object] = (), quiet: bool = False
) -> T:
    """Run `work` in a child, which is terminated after `seconds` without progress, and return its result.

    Objects in `shared` are this process's own in the result as well. A QuantascopeError of the child is raised
    here with its type and text; TimedOut and Crashed mean that there is no result. The child's output goes to
    stderr, unless `quiet`.
    """
    if not hasattr(os, "fork"):
        return work(Progress())
    known = {id(one): one for one in shared}
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        child = _Child(work, known, _Printed(quiet))
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        raise EngineFailed(f"no process can be started: {error.strerror}; end some others") from None
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        received = child.received(seconds)
    finally:
        child.end()
    return received_result(received, known)


class _Child:
    """A forked process."""

    def __init__(self, work: Callable[[Progress], Any], shared: Shared, printed: "_Printed") -> None:
        self._progress, self._printed = Progress(), printed
        heritage = Heritage(os.getpid(), random.getstate(), shared)
        ends = [os.pipe() for _ in Pipes._fields]
        self._pipes = Pipes(*(reading for reading, _ in ends))
        self._pid = os.fork()
        if not self._pid:
            live(work, self._progress, Pipes(*(writing for _, writing in ends)), heritage)
        for _, writing in ends:
            os.close(writing)

    def received(self, seconds: float) -> bytearray:
        """Everything that the child sends."""
        received, seen, idle = bytearray(), self._progress.read(), 0.0
        tick, before = min(seconds / 8, 0.25), time.monotonic()
        while not is_whole(received):
            exit = self._exit()
            came = self._receive(received, tick if exit is None else 0.0)
            now = time.monotonic()
            idle += min(now - before, 2 * tick)  # do not count a pause of the whole machine
            before = now
            if came or self._progress.read() != seen:
                seen, idle = self._progress.read(), 0.0
            elif exit is not None:
                raise Crashed(exit, *seen[1:], frames_in(self._place()))
            elif idle > seconds:
                self._ask(TELLING * seconds)
                raise TimedOut(f"runs for more than {seconds:g} seconds", *seen[1:], frames_in(self._place()))
        return received

    def end(self) -> None:
        """Kill the child and all processes that it started, and show its output."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        if self._pipes.output in _readable(self._pipes.output):
            self._printed.add(os.read(self._pipes.output, 1 << 20))
        self._printed.close()
        for reading in self._pipes:
            os.close(reading)

    def _receive(self, received: bytearray, wait: float) -> bool:
        """Receive the result and show the output; returns whether anything was received."""
        ready = _readable(self._pipes.result, self._pipes.output, wait=wait)
        if self._pipes.output in ready:
            self._printed.add(os.read(self._pipes.output, 1 << 16))
        sent = os.read(self._pipes.result, 1 << 20) if self._pipes.result in ready else b""
        received += sent
        return bool(sent)

    def _exit(self) -> str | None:
        """How the child has ended, if it has."""
        try:
            found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return "ends its process"  # somebody else has waited for it
        if found is None:
            return None
        if found.si_code == os.CLD_EXITED:
            return f"ends its process with exit code {found.si_status}"
        return f"ends its process by {signal.Signals(found.si_status).name}"

    def _ask(self, seconds: float) -> None:
        """Let the child write its stack and end, unless it disabled that."""
        os.kill(self._pid, ASK)
        until = time.monotonic() + seconds
        while self._exit() is None and time.monotonic() < until:
            time.sleep(0.001)

    def _place(self) -> str:
        place = self._pipes.place
        return os.read(place, 1 << 16).decode(errors="replace") if place in _readable(place) else ""


def _readable(*ends: int, wait: float = 0.0) -> set[int]:
    """The pipes that have data."""
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    found = poll.poll(wait * 1000)
    ready = {end for end, event in found if event & select.POLLIN}
    if found and not ready:
        time.sleep(min(wait, 0.01))  # closed by the child, and so never waited for again
    return ready


class _Printed:
    """The output of a child: shown on stderr, up to a limit and without control characters, or not at all."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._count, self._last = quiet, 0, "\n"

    def add(self, printed: bytes) -> None:
        """Show more output."""
        text = printed[: max(OUTPUT - self._count, 0)].decode(errors="replace")
        self._count += len(printed)
        self._show(
            "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)
        )

    def close(self) -> None:
        """End the last line, and report if output was cut."""
        self._show("\n" if self._last != "\n" else "")
        if self._count > OUTPUT:
            self._show(f"… {self._count - OUTPUT:,} more bytes that the program prints are not shown\n")

    def _show(self, text: str) -> None:
        if text and not self._quiet:
            self._last = text[-1]
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
                sys.stderr.write(text)
                sys.stderr.flush()
