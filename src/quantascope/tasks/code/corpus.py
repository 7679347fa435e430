"""The standard library of the running interpreter as windows of bytes, split by module.

A module's place is decided by the digest of its name: all files of a package are in one split. Files that are not
plain ASCII and folders of tests and tables are left out. No two windows are alike.
"""

import hashlib
import platform
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.packaged import PackagedData

LENGTH = 128
"""Bytes of a window; all but the first are predicted."""
LEAST_MODULES = 16
_SPLITS = ("development", *("test",) * 2, *("training",) * 13)
"""The splits of every sixteen modules."""
_LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "lib2to3", "ensurepip", "turtledemo", "pydoc_data", "encodings", "__pycache__"}
)


@dataclass(frozen=True, order=True)
class Place:
    """Where a window begins: a file by its path in the library, and an offset in bytes."""

    file: str
    offset: int


def library() -> Path:
    """The folder of the standard library."""
    return Path(sysconfig.get_path("stdlib"))


@cache
def sources(folder: Path) -> Mapping[str, bytes]:
    """The source files of a library by their paths in it."""
    found = {}
    for file in sorted(folder.rglob("*.py")):
        name = file.relative_to(folder)
        module = name.parts[0].removesuffix(".py")
        if module in sys.stdlib_module_names and not _LEFT_OUT.intersection(name.parts):
            text = file.read_bytes().replace(b"\r\n", b"\n")
            if text.isascii():
                found[name.as_posix()] = text
    if len({module_of(name) for name in found}) < LEAST_MODULES:
        raise InvalidConfig(
            f"{sys.executable} has no sources of its standard library in {folder}; run quantascope with an "
            "interpreter that has them"
        )
    return found


def data() -> PackagedData:
    """Which library it is, with a digest of its files."""
    folder, found = library(), hashlib.sha256()
    for name, text in sources(folder).items():
        found.update(f"{name} {len(text)} ".encode() + text)
    return PackagedData("the library of Python", platform.python_version(), found.hexdigest()[:16], folder)


def module_of(name: str) -> str:
    """The top module of a file.

    >>> module_of("json/decoder.py"), module_of("abc.py")
    ('json', 'abc')
    """
    return name.partition("/")[0].removesuffix(".py")


def split_of(module: str) -> str:
    """The split that a module belongs to."""
    return _SPLITS[hashlib.sha256(module.encode()).digest()[-1] % len(_SPLITS)]


@cache
def windows(folder: Path) -> Mapping[str, Mapping[bytes, Place]]:
    """The windows of each split in the order of their digests, and the first place of each."""
    seen: dict[bytes, Place] = {}
    for name, text in sources(folder).items():
        for offset in range(0, len(text) - LENGTH + 1, LENGTH):
            seen.setdefault(text[offset : offset + LENGTH], Place(name, offset))
    found: dict[str, dict[bytes, Place]] = {name: {} for name in _SPLITS}
    for window in sorted(seen, key=lambda window: hashlib.sha256(window).digest()):
        found[split_of(module_of(seen[window].file))][window] = seen[window]
    return found
