"""Records the packaged data that a run was trained on, and warns if other data are installed when it is opened."""

import warnings
from pathlib import Path

from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.run_directory import RunDirectory
from quantascope.tasks.sequence import SequenceTask
from quantascope.tasks.text import TextTask

DATA = "data.json"


class OtherData(UserWarning):
    """Warning that the installed data differ from a run's training data."""


def keep_data(run: RunDirectory, task: SequenceTask | TextTask) -> None:
    """Record package, version and digest of the data of a task, or compare with the record."""
    if task.data is None:
        return
    if (run.path / DATA).exists():
        check_data(run.path, task)
        return
    found = task.data()
    record = {"package": found.package, "version": found.version, "content": found.digest}
    write_record(run.path / DATA, record, made_by=run.hash)


def check_data(path: Path, task: SequenceTask | TextTask) -> None:
    """Warn if the digest of the installed data is not the recorded one."""
    if task.data is None or not (path / DATA).is_file():
        return
    kept, found = read_record(path / DATA, made_by=None), task.data()
    if not all(isinstance(kept.get(name), str) for name in ("package", "version", "content")):
        raise DamagedArtefact(f"{path / DATA} does not name the data that {path} was trained on; restore it")
    if kept["content"] != found.digest:
        made = f"{kept['package']} {kept['version']} ({kept['content']})"
        says = (
            f"{path} was trained on {made}, but {found.label} is installed; install {kept['version']} for the same"
        )
        warnings.warn(says, OtherData, stacklevel=2)
