"""Programs from files: `FILE.py` or `FILE.py:entry`.

The name of a file's module contains its path. Any process that imports this module, such as a worker, can import
these names too, so that functions and classes of a user's file can be pickled.
"""

import atexit
import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from urllib.parse import quote, unquote

from quantascope.program.place import place_of
from quantascope.program.registry import Program
from quantascope.program.violations import InvalidEntry, NeverEnds, ProgramCrashed
from quantascope.runs.errors import QuantascopeError, described
from quantascope.runs.isolation import Crashed, Ended, Progress, TimedOut, run_isolated, time_limit
from quantascope.runs.isolation.run import TIME_LIMIT

LOADING_LIMIT = 30.0
"""Seconds that a file may take between two of its imports, unless the time limit is set."""

_EXIT = 1
"""The step that runs a file's atexit handlers."""
_LOADED: dict[Path, tuple[bytes, ModuleType]] = {}
"""Every file that was run, with its text at that time."""


def split_entry(where: str) -> tuple[str, str | None]:
    """The file or name, and the entry behind its last colon if there is one.

    >>> split_entry("plural.py:predict"), split_entry("disk:plural.py")
    (('plural.py', 'predict'), ('disk:plural.py', None))
    """
    name, colon, entry = where.rpartition(":")
    return (name, entry) if colon and entry.isidentifier() else (where.removesuffix(":"), None)


def load_module(file: Path) -> ModuleType:
    """Run a file as a module; it runs again only if its text changes."""
    if not file.is_file():
        what = f"{file} is a folder" if file.is_dir() else f"there is no program file {file}"
        raise InvalidEntry(what, "give the path of a Python file")
    file = file.resolve()
    text = _read(file)
    if file not in _LOADED or _LOADED[file][0] != text:
        _try_out(file, text)
        # The child process has already shown what the file prints.
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            _LOADED[file] = text, run_file(file, text)
    return _LOADED[file][1]


def loaded_file(program: Program) -> tuple[Path, bytes, str] | None:
    """The file of a program, the text that was run, and the program's name in it; None if it has no file."""
    for file, (text, module) in _LOADED.items():
        for name, value in vars(module).items():
            if value is program:
                return file, text, name
    return None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidEntry(f"{file} cannot be read: {error.strerror}", "give read permission") from None


_PREFIX = "program "


def _module_name(file: Path) -> str:
    """A module name without dots, because pickle would take the part before a dot for a package."""
    return _PREFIX + quote(str(file)).replace(".", "%2E")


class _FileFinder(MetaPathFinder):
    """Import finder that finds the module of a user's file by its name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = Path(unquote(fullname.removeprefix(_PREFIX)))
        if not fullname.startswith(_PREFIX) or not file.is_file():
            return None
        return importlib.util.spec_from_file_location(fullname, file)


if not any(isinstance(finder, _FileFinder) for finder in sys.meta_path):
    sys.meta_path.append(_FileFinder())


def _try_out(file: Path, text: bytes) -> None:
    """Run a file and its exit handlers in a separate process first.

    Only a file that terminates is then run in this process.
    """

    def work(progress: Progress) -> None:
        atexit._clear()  # the child must not run this process's exit handlers
        sys.addaudithook(lambda event, _: progress.again() if event == "import" else None)
        try:
            run_file(file, text)
        except KeyboardInterrupt as error:  # only threads that the file started reach this process
            raise _unimportable(file, error) from None
        left = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
        if left:
            raise InvalidEntry(f"{file} leaves a thread running: {left[0].name}", "join it, or make it a daemon")
        progress.at(_EXIT)
        atexit._run_exitfuncs()

    try:
        run_isolated(work, seconds=time_limit(LOADING_LIMIT))
    except TimedOut as end:
        raise NeverEnds(_ended(file, end), f"end its loop, or set {TIME_LIMIT} to more seconds") from None
    except Crashed as end:
        raise ProgramCrashed(_ended(file, end), "fix the file") from None


def _ended(file: Path, end: Ended) -> str:
    what = "has an exit handler that fails" if end.item == _EXIT else "cannot be imported"
    return f"{file} {what}: {end.what}{end.place}"


def run_file(file: Path, text: bytes) -> ModuleType:
    """Run a file with this text in this process and return its module."""
    name = _module_name(file)
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None, "a file that ends in .py"
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look up the module of a class by its name
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    except QuantascopeError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _unimportable(file, error) from error
    return module


def _unimportable(file: Path, error: BaseException) -> InvalidEntry:
    # A syntax error already names its line.
    where = "" if isinstance(error, SyntaxError) else f" at {place_of(error)}"
    return InvalidEntry(f"{file} cannot be imported: {described(error, where)}", "fix the file")


def program_in(module: ModuleType, entry: str | None, name: str | None = None) -> Program:
    """The program of a module with the given entry name, or its only program; errors call the module `name`."""
    programs = {name: value for name, value in vars(module).items() if isinstance(value, Program)}
    file, known = name or Path(module.__file__ or module.__name__).name, ", ".join(programs) or "none"
    if not programs:
        raise InvalidEntry(f"{file} has no entry", "declare one with @registry.entry(…)")
    if entry is None and len(set(programs.values())) > 1:
        raise InvalidEntry(
            f"{file} has {len(programs)} entries, {known}",
            f"name one of them, as in {file}:{next(iter(programs))}",
        )
    if entry is not None and entry not in programs:
        raise InvalidEntry(f"{file} has no entry '{entry}'", f"its entries are: {known}")
    return programs[entry or next(iter(programs))]
