"""User files that a run was made with: saved as text, and executed only if the user names them.

A run may come from another person, so opening it never executes code from it. The file must be named on the
command line and must be identical to the text saved in the run.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from quantascope.program.source import load_module, split_entry
from quantascope.programs import is_built_in
from quantascope.runs.errors import InvalidConfig, QuantascopeError, RunMismatch, described
from quantascope.runs.files import write_bytes
from quantascope.runs.run_directory import RunDirectory

T = TypeVar("T")


def load_name(where: str, wanted: str) -> Any:
    """The object that `FILE.py:NAME` names; `wanted` describes it for error messages."""
    name, entry = split_entry(where)
    file = Path(name)
    if file.suffix != ".py" or not entry:
        raise InvalidConfig(f"'{where}' does not name {wanted}; write FILE.py:NAME")
    module = load_module(file)
    if not hasattr(module, entry):
        known = [one for one in vars(module) if not one.startswith("_")]
        raise InvalidConfig(f"{file} does not define '{entry}'; it defines {', '.join(known) or 'nothing'}")
    return getattr(module, entry)


def keep_file(run: RunDirectory, where: str, kept_as: str) -> None:
    """Save the text of a user's file in the run; raises if the run has another text."""
    if is_built_in(where):
        return
    file, kept = Path(split_entry(where)[0]), run.path / kept_as
    if not file.is_file():
        return  # is told missing when it is loaded
    text = file.read_bytes()
    if not kept.exists():
        write_bytes(kept, text)
    elif not kept.is_file() or kept.read_bytes() != text:
        raise RunMismatch(
            f"{file} has changed since {run.path} was made with it; restore it from {kept}, or make a new run"
        )


def check_named(kept: Path, made_with: str, named: str | None, *, option: str) -> str:
    """The location of what a run was made with: a built-in name, or the file that the user names.

    Raises if a file was not named, or differs from the one that the run was made with.
    """
    if is_built_in(made_with):
        if named is not None and named != made_with:
            raise InvalidConfig(f"{kept.parent} was made with {made_with}, not with {named}; leave out {option}")
        return made_with
    if named is None:
        raise InvalidConfig(
            f"{kept.parent} was made with {made_with}, a file, and files run only if named; look at it and give "
            f"{option} {made_with}"
        )
    file, entry = split_entry(named)
    if not Path(file).is_file():
        raise InvalidConfig(f"there is no file {file}; the run keeps its text as {kept}")
    if not kept.is_file():
        raise RunMismatch(f"{kept.parent} does not keep the file that it was made with, {kept.name}; restore it")
    if kept.read_bytes() != Path(file).read_bytes():
        raise RunMismatch(f"{file} is not the file that {kept.parent} was made with; compare it with {kept}")
    made_entry = split_entry(made_with)[1]
    if made_entry and entry and entry != made_entry:
        raise RunMismatch(f"{kept.parent} was made with '{made_entry}' of {file}, not with '{entry}'; name that")
    return f"{file}:{made_entry}" if made_entry else file


def call_named(where: str, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function of a user's file; its exceptions become one-line errors."""
    try:
        return function(*arguments)
    except QuantascopeError:
        raise
    except Exception as error:
        raise InvalidConfig(f"{where} raises {described(error)}; fix the file") from error
