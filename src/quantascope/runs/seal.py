"""The digest that a file carries of itself.

It is the CRC-32 of the file's bytes with the digest's own digits as zeros, so that it covers every byte, whatever
the format. It finds accidental damage: flipped bits, zeroed or exchanged blocks, edits by hand. It does not find
forgery: who can write the file can write its digest too.
"""

import mmap
import multiprocessing
import warnings
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from quantascope.runs.errors import DamagedArtefact

BLANK = "crc32:00000000"
"""What stands in a file's place for the digest until its bytes are known."""
_MARK = b"crc32:"


def sealed(data: bytes) -> bytes:
    """The bytes of a file with its digest in the place that is kept for it.

    >>> sealed(b"one crc32:00000000")
    b'one crc32:39d0d819'
    """
    place = data.index(BLANK.encode())
    view = memoryview(data)
    return b"".join((view[:place], f"crc32:{zlib.crc32(data):08x}".encode(), view[place + len(BLANK) :]))


def check_seal(path: Path, file: BinaryIO, digest: Any, *, remedy: str) -> None:
    """Refuse a file of ours whose bytes do not match its digest; without one, it is of an older version."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        # A digest that is there under another name is one whose name is damaged.
        if digest is None and data.find(_MARK) < 0:
            _warn_of_no_digest(path)
        elif not isinstance(digest, str) or not _is_intact(data, digest.encode()):
            raise DamagedArtefact(f"{path} is damaged: its bytes do not match their digest; {remedy}")


def _is_intact(data: mmap.mmap, digest: bytes) -> bool:
    place = data.find(digest)
    if place < 0:
        return False
    with memoryview(data) as whole, whole[:place] as before, whole[place + len(digest) :] as after:
        found = zlib.crc32(after, zlib.crc32(BLANK.encode(), zlib.crc32(before)))
    return digest == f"crc32:{found:08x}".encode()


_told: list[Path] = []


def _warn_of_no_digest(path: Path) -> None:
    """Say it once, and not in workers, which would say it again."""
    if not _told and multiprocessing.parent_process() is None:
        _told.append(path)
        warnings.warn(
            f"{path} has no digest, as files of older versions: damage in it, and in others like it, goes unseen",
            stacklevel=2,
        )
