"""`Kept`: a cache of values made from files, which are made again when a file changes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Signature = tuple[tuple[str, int, int] | None, ...]


@dataclass(frozen=True, eq=False)
class _Held:
    signature: Signature
    of: Any
    value: Any


class Kept:
    """The latest value of each name.

    >>> kept, file = Kept(), Path("of no file")
    >>> kept.get("answer", lambda: 42, files=[file]), kept.get("answer", lambda: 43, files=[file])
    (42, 42)
    """

    def __init__(self) -> None:
        self._values: dict[str, _Held] = {}

    def get(self, name: str, make: Callable[[], T], *, files: Iterable[Path] = (), of: Any = None) -> T:
        """The cached value of a name, made from files or from another object; errors are not cached."""
        now = tuple(_signature(file) for file in files)
        held = self._values.get(name)
        if held is None or held.signature != now or held.of is not of:
            held = _Held(now, of, make())
            self._values[name] = held
        return held.value


def _signature(file: Path) -> tuple[str, int, int] | None:
    """The identity of a file's content on disk; None if it does not exist."""
    try:
        about = file.stat()
    except OSError:
        return None
    return str(file), about.st_mtime_ns, about.st_size
