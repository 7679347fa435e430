"""Files of a user's that a run was made with: kept as text, and run only when the user names them.

A run may come from somebody else. Opening it never executes what it holds: the file is named on the command line,
and must be byte for byte the one that the run keeps.
"""

from pathlib import Path
from typing import Any

from quantascope.program.source import load_module, split_entry
from quantascope.programs import is_built_in
from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.runs.files import write_bytes
from quantascope.runs.run_directory import RunDirectory


def load_name(where: str, wanted: str) -> Any:
    """What `FILE.py:NAME` names; `wanted` says what it should be."""
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
    """Keep the text of a user's file in the run; a run of another text is refused."""
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


def check_named(kept: Path, made_with: str, named: str | None, *, option: str) -> None:
    """Refuse to run a user's file that was not named, or that is not the one a run was made with."""
    if is_built_in(made_with):
        if named is not None and named != made_with:
            raise InvalidConfig(f"{kept.parent} was made with {made_with}, not with {named}; leave out {option}")
        return
    if named is None:
        raise InvalidConfig(
            f"{kept.parent} was made with {made_with}, a file, and no file runs unasked; look at it and give "
            f"{option} {made_with}"
        )
    file = Path(split_entry(named)[0])
    if not file.is_file():
        raise InvalidConfig(f"there is no file {file}; the run keeps its text as {kept}")
    if not kept.is_file() or kept.read_bytes() != file.read_bytes():
        raise RunMismatch(f"{file} is not the file that {kept.parent} was made with; compare it with {kept}")
