"""Errors that a user can cause and fix.

Every message names the offending value and the remedy; the command line prints it as one line and exits with code
2. Any other exception is a bug in quantascope.
"""

import difflib
import errno
from collections.abc import Iterable


class QuantascopeError(Exception):
    """Base class of all errors that a user can fix."""


class InvalidConfig(QuantascopeError):
    """A setting that is unknown, of the wrong type, or impossible."""


class RunMismatch(QuantascopeError):
    """A run directory or artefact that another configuration made."""


class DamagedArtefact(QuantascopeError):
    """A file that is truncated, foreign, or not what its name says."""


class UnreadableFile(DamagedArtefact):
    """A file or folder that the system does not allow to be read; it may be intact."""


class StorageFailed(QuantascopeError):
    """A file that could not be written: full or read-only disk, missing permission."""


class Diverged(QuantascopeError):
    """A training run whose loss is no longer a finite, sensible number."""


class EngineFailed(QuantascopeError):
    """A job that failed because its worker or engine stopped."""


_REMEDIES = {
    "free space, or use another disk": ("ENOSPC", "EDQUOT", "EFBIG"),
    "fix permissions, or use a folder of your own": ("EACCES", "EPERM"),
    "it cannot be changed; use another folder": ("EROFS", "ETXTBSY"),
    "close other programs, or raise the limit of open files (ulimit -n)": ("EMFILE", "ENFILE"),
    "use a shorter name": ("ENAMETOOLONG",),
    "use an existing folder": ("ENOENT", "ENOTDIR", "ENODEV", "ENXIO"),
    "use another name": ("EISDIR", "EEXIST", "EINVAL", "EILSEQ"),
    "fix the circular links": ("ELOOP",),
    "free memory": ("ENOMEM",),
    "end other processes": ("EAGAIN",),
    "check the disk": ("EIO", "ESTALE"),
}
_REMEDY_OF = {getattr(errno, name): text for text, names in _REMEDIES.items() for name in names}


def storage_remedy(error: OSError) -> str:
    """What to do about an error of the file system.

    >>> storage_remedy(OSError(errno.ENOSPC, "No space left on device"))
    'free space, or use another disk'
    >>> storage_remedy(OSError("of a kind of its own"))
    'use another folder'
    """
    return _REMEDY_OF.get(error.errno or 0, "use another folder")


def nearest(name: str, known: Iterable[str], kind: str, *, cutoff: float = 0.5) -> str:
    """The end of an error about an unknown name: the most similar known name, or all known names.

    >>> nearest("trian", ("train", "audit"), "commands"), nearest("x", ("train", "audit"), "commands")
    ("; did you mean 'train'?", '; known commands are audit, train')
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"; did you mean '{close[0]}'?" if close else f"; known {kind} are {', '.join(sorted(known))}"


LONGEST_MESSAGE = 300


def one_line(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """A text as one printable line: shortened, without control characters.

    >>> one_line("no\\n  idea \\x1b[31m")
    'no idea \\\\x1b[31m'
    """
    words = " ".join(text[:longest].split())
    line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in words)
    return line if max(len(line), len(text)) <= longest else f"{line[: longest - 1]}…"


def described(error: BaseException, where: str = "") -> str:
    """The class of any exception, where it was raised, and its message if it has one.

    >>> described(ValueError("no number"), " at mine.py:3"), described(MemoryError())
    ('ValueError at mine.py:3: no number', 'MemoryError')
    """
    message = message_of(error)
    return f"{type(error).__name__}{where}{': ' * bool(message)}{message}"


def message_of(error: BaseException) -> str:
    """The message of any exception in one line, whatever its own `__str__` does."""
    try:
        return one_line(str(error))
    except BaseException:
        return "(its message cannot be shown)"
