"""Atomic writing and safe opening of files.

A file is written under a random temporary name, synced and renamed, so that a killed process leaves the old file
or the new one. The writer locks its temporary file; an unlocked one was left by a killed process. Temporary files
are never opened through a link, and only regular files are read.
"""

import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from quantascope.runs.errors import DamagedArtefact, StorageFailed, UnreadableFile, storage_remedy

RUN_AGAIN = "move it away and run again"
_KINDS = {
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFDIR: "folder",
}


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file's content atomically, and durably if `durable`."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    with _storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                _hold(file.fileno())
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        if durable:
            _sync_folder(path.parent)


def remove_partials(folder: Path) -> None:
    """Remove temporary files of killed processes in a folder and its subfolders."""
    for partial in folder.rglob(".*.partial"):
        if (partial.is_symlink() or not partial.is_dir()) and not is_held(partial):
            partial.unlink(missing_ok=True)


def is_held(file: Path) -> bool:
    """Whether a running process holds this file, as far as is known; False if it does not exist."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENXIO)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EWOULDBLOCK, errno.EACCES)
    else:
        return False
    finally:
        os.close(handle)


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Context manager with an empty locked file, which exists while the block runs and its process lives."""
    with _storage(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        _hold(handle)
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def opened(path: Path, remedy: str = RUN_AGAIN) -> Iterator[BinaryIO]:
    """Open a regular file for reading without blocking; raises for anything else."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind != stat.S_IFREG:
            raise DamagedArtefact(
                f"{path} is a {_KINDS.get(kind, 'special file')}, not a regular file; move it away"
            )
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        if path.is_symlink():
            raise DamagedArtefact(f"{path} is a link to a missing file; download it again") from None
        instead = "run the command that makes it again" if remedy == RUN_AGAIN else remedy
        raise DamagedArtefact(f"{path} is missing; {instead}") from None
    except OSError as error:
        raise unreadable(path, error) from error
    with os.fdopen(handle, "rb") as file:
        yield file


def file_digest(file: Path) -> str:
    """A short hash of a file's bytes, with which a config identifies its file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def unreadable(path: Path, error: OSError) -> UnreadableFile:
    """The error for a file or folder that the system does not allow to be read; it may be intact."""
    return UnreadableFile(f"cannot read {path}: {error.strerror or error}; {storage_remedy(error)}")


def refuse_links(folder: Path) -> None:
    """Raise if a link leads out of a run: another person's run could reach your files through it."""
    root = os.path.realpath(folder)
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        _refuse_outside(Path(entry.path), root)
                    elif entry.is_dir():
                        pending.append(entry.path)
        except OSError as error:
            raise unreadable(Path(error.filename or folder), error) from error


def _refuse_outside(link: Path, root: str) -> None:
    target = os.path.realpath(link)
    if target != root and not target.startswith(root + os.sep):
        raise DamagedArtefact(f"{link} is a link out of its run, to {target}; put the files themselves there")


def _hold(handle: int) -> None:
    with suppress(OSError):  # a file system without locks; leftovers are then only removed later
        fcntl.flock(handle, fcntl.LOCK_EX)


@contextmanager
def _storage(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror or error}; {storage_remedy(error)}") from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
