"""Measures available memory, and raises before work that cannot fit allocates any.

An estimate counts only what the work certainly holds at once, so that nothing is refused that would fit.
"""

import os
import resource
from pathlib import Path

from quantascope.runs.errors import InvalidConfig

FLOAT = 4
"""Bytes of a number in float32."""


def check_memory(needed: int | float, what: str, *, free: float | None = None) -> None:
    """Raise if work needs more bytes than are `free`; `what` names the settings that make it large.

    By default, `free` is the memory that this process can still allocate.

    >>> check_memory(1e18, "batch_size 10000000000")
    Traceback (most recent call last):
    quantascope.runs.errors.InvalidConfig: batch_size 10000000000 needs about 1.00 EB of memory, and ...
    """
    available = available_bytes() if free is None else free
    if needed > available:
        raise InvalidConfig(
            f"{what} needs about {shown_bytes(needed)} of memory, and {shown_bytes(available)} are available; "
            "lower it"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this is an out-of-memory error of Python, numpy or torch."""
    said = str(error) if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or any(
        words in said for words in ("allocate memory", "out of memory", "bad_alloc")
    )


def available_bytes() -> float:
    """Memory that this process can still allocate, within the machine's free memory and its limits."""
    free = [_machine(), _container()]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        free.append(max(0.0, limit - _address_space()))
    return min(free)


def _machine() -> float:
    """Memory available without swapping, including caches; all memory if the system does not report it."""
    fields = _words("/proc/meminfo")
    if "MemAvailable:" in fields:
        return 1024.0 * int(fields[fields.index("MemAvailable:") + 1])
    return float(os.sysconf("SC_PHYS_PAGES")) * resource.getpagesize()


def _container() -> float:
    words = _words("/sys/fs/cgroup/memory.max")
    return float(words[0]) if words and words[0].isdigit() else float("inf")


def _address_space() -> float:
    words = _words("/proc/self/statm")
    return float(int(words[0]) * resource.getpagesize()) if words else 0.0


def _words(file: str) -> list[str]:
    try:
        return Path(file).read_text().split()
    except OSError:
        return []


def shown_bytes(size: int | float) -> str:
    """A size as text in a suitable unit.

    >>> shown_bytes(8.2e8), shown_bytes(3e15)
    ('0.82 GB', '3.00 PB')
    """
    units = ((1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"))
    scale, unit = next(((s, u) for s, u in units if size >= s / 10), (1e3, "kB"))
    return f"{size / scale:.2f} {unit}"
