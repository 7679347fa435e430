"""A digest of a file, stored in the file itself.

It is a checksum of the file's bytes with the digest's own digits as zeros, so that it covers every byte, whatever
the format. XXH3 runs at the speed of memory; files of older versions carry a CRC-32. It detects accidental damage:
flipped bits, zeroed or exchanged blocks, manual edits. It does not detect forgery: anyone who can write the file
can also write its digest.
"""

import multiprocessing
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import xxhash

from quantascope.runs.errors import DamagedArtefact

Parts = Iterable[bytes | memoryview]


def _xxh3(parts: Parts) -> str:
    found = xxhash.xxh3_64()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _crc32(parts: Parts) -> str:
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return f"{found:08x}"


_DIGITS: Mapping[str, tuple[int, Callable[[Parts], str]]] = {"xxh3-64": (16, _xxh3), "crc32": (8, _crc32)}
"""Number of digits of each kind of digest, and the function that computes them."""
BLANK = f"xxh3-64:{0:016}"
"""Placeholder for the digest until the file's bytes are known."""
PATTERN = "|".join(f"{kind}:[0-9a-f]{{{count}}}" for kind, (count, _) in _DIGITS.items())
"""A digest, as a regular expression."""


def sealed(data: bytes, *, last: bool = False) -> bytes:
    """The bytes of a file with its digest in place of the first (or last) placeholder.

    >>> sealed(b"one xxh3-64:0000000000000000")
    b'one xxh3-64:b922fd81459bc73f'
    """
    place = data.rindex(BLANK.encode()) if last else data.index(BLANK.encode())
    view = memoryview(data)
    return b"".join((view[:place], f"xxh3-64:{_xxh3([data])}".encode(), view[place + len(BLANK) :]))


def check_seal(path: Path, first: bytes, *rest: memoryview, digest: Any, remedy: str) -> None:
    """Raise if a file's bytes do not match its digest, which is in the `first` of its parts.

    A file of an older version may have none.
    """
    # A digest under another name has a damaged name.
    if digest is None and all(f"{kind}:".encode() not in first for kind in _DIGITS):
        _warn_of_no_digest(path)
    elif not isinstance(digest, str) or not _is_intact(first, rest, digest.encode()):
        raise DamagedArtefact(f"{path} is damaged: its bytes do not match their digest; {remedy}")


def _is_intact(first: bytes, rest: Parts, digest: bytes) -> bool:
    kind, place = digest.partition(b":")[0].decode(), first.find(digest)
    if place < 0 or kind not in _DIGITS:
        return False
    count, digits_of = _DIGITS[kind]
    blank, view = f"{kind}:{0:0{count}}".encode(), memoryview(first)
    return digest == f"{kind}:{digits_of((view[:place], blank, view[place + len(digest) :], *rest))}".encode()


_told: list[Path] = []


def _warn_of_no_digest(path: Path) -> None:
    """Warn once, and not in workers, which would repeat the warning."""
    if not _told and multiprocessing.parent_process() is None:
        _told.append(path)
        warnings.warn(
            f"{path} has no digest, like files of older versions: damage in it cannot be detected",
            stacklevel=2,
        )
