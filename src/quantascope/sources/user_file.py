"""User files that a run was made with: saved as text, and executed only if the user names them.

A run may come from another person, so opening it never executes code from it. The file must be named on the
command line and must be identical to the text saved in the run. A record beside the text, `program.json` beside
`program.py`, has the digest of the text, so that it is known which of the two has changed. Older runs have none.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from quantascope.program.source import load_module, split_entry
from quantascope.programs import is_built_in
from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, QuantascopeError, RunMismatch, described
from quantascope.runs.files import file_digest, write_bytes
from quantascope.runs.run_directory import RunDirectory, read_run

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
    made_with = _recorded(kept)
    if not kept.exists() and made_with in (None, file_digest(file)):
        write_bytes(kept, file.read_bytes())
    changed = f"{file} has changed since {run.path} was made with it; restore it from {kept}, or make a new run"
    _check_same(file, kept, made_with, changed)
    if made_with is None:
        write_record(_record_of(kept), {"text": file_digest(file)}, made_by=run.hash)


def _record_of(kept: Path) -> Path:
    return kept.with_suffix(".json")


def _recorded(kept: Path) -> str | None:
    """The digest of the text that a run was made with; None for a run of an older version."""
    record = _record_of(kept)
    if not record.exists():
        return None
    found = read_record(record, made_by=read_run(kept.parent).hash, remedy="restore it").get("text")
    if not isinstance(found, str):
        raise DamagedArtefact(f"{record} does not hold the digest of {kept.name}; restore it")
    return found


def _check_same(file: Path, kept: Path, made_with: str | None, changed: str) -> None:
    """Raise if the named file is not the text that a run keeps: `changed`, unless the kept text is damaged."""
    run = kept.parent
    if not kept.is_file():
        raise RunMismatch(f"{run} does not keep the file that it was made with, {kept.name}; restore it")
    named, own = file_digest(file), file_digest(kept)
    if named == own == (made_with or own):
        return
    if made_with is None:
        raise RunMismatch(
            f"{file} is not the file that {run} keeps as {kept.name}, and the run is too old to say which of them "
            "has changed; compare them, and restore that one"
        )
    if own == made_with:
        raise RunMismatch(changed)
    if named == made_with:
        raise DamagedArtefact(f"{kept} is damaged, and {file} is what {run} was made with; copy it to {kept}")
    raise DamagedArtefact(
        f"{kept} is damaged, and {file} is not the file that {run} was made with either; restore {kept}"
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
    changed = f"{file} is not the file that {kept.parent} was made with; compare it with {kept}"
    _check_same(Path(file), kept, _recorded(kept), changed)
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
