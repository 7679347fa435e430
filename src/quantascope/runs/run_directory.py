"""The run directory: the contract between commands.

A run is a folder that one configuration made. `config.json` records the configuration and the software; every
other file carries the config's hash. A process that writes to a run holds its lock, which the system releases when
the process dies.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from quantascope.runs.artefact import read_json, read_record, write_record
from quantascope.runs.config import Config, differences, fingerprint
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch, StorageFailed, storage_remedy
from quantascope.runs.files import refuse_links, remove_partials, unreadable
from quantascope.runs.provenance import made_with

FORMAT = 2
CONFIG, LOCK = "config.json", ".lock"
RESTORE = "restore the file"
ELSEWHERE = "choose another folder, or move it away"
AnyConfig = TypeVar("AnyConfig", bound=Config)


@dataclass(frozen=True)
class RunDescription:
    """The contents of a run's `config.json`."""

    path: Path
    kind: str
    hash: str
    config: dict[str, Any]
    made_with: dict[str, str]

    def parse(self, config: type[AnyConfig], *, make: str) -> AnyConfig:
        """The config as this class; raises for another kind of run; `make` is the command that makes one."""
        if self.kind != config.KIND:
            raise RunMismatch(
                f"{self.path} is a run of '{self.kind}', not of '{config.KIND}'; make one with {make}"
            )
        found = config.parse(self.config)
        if found.hash() != self.hash and fingerprint(self.config) == self.hash:
            changes = "; ".join(differences(self.config, found.model_dump(mode="json"))[:3])
            raise RunMismatch(
                f"{self.path} was made by another version of quantascope, whose settings differ ({changes}); make "
                f"it again with {make}, or read it with that version"
            )
        if found.hash() != self.hash:
            raise DamagedArtefact(
                f"the config in {self.path / CONFIG} is not the one whose hash it states; restore the file"
            )
        return found


def is_run(path: Path) -> bool:
    """Whether a folder is a run; a Hugging Face `config.json` does not count."""
    return is_there(path / CONFIG) and "format" in _read_object(path / CONFIG)


def is_there(file: Path) -> bool:
    """Whether a file exists; raises if the folder cannot be read."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unreadable(file, error) from error
    return True


def read_run(path: Path) -> RunDescription:
    """Read a run folder's record; raises if it is not a run of this version."""
    file = path / CONFIG
    if not is_there(file):
        what = "has no config.json" if path.is_dir() else "is not a folder"
        raise DamagedArtefact(f"{path} {what}, so it is not a run; make one with quantascope train")
    refuse_links(path)
    found = _read_object(file)
    if "format" not in found:
        raise DamagedArtefact(f"{file} is not the config of a quantascope run; choose another folder")
    if found["format"] != FORMAT:
        raise RunMismatch(
            f"{path} has run format {found['format']}, and this version of quantascope reads format {FORMAT}; "
            "make the run again, or read it with the version that made it"
        )
    found = read_record(file, made_by=None, remedy=RESTORE)
    kind, digest, made = found.get("kind"), found.get("hash"), found.get("made_with")
    config = found.get("config")
    described = all(isinstance(one, str) for one in (kind, digest)) and isinstance(config, dict)
    if not described or not isinstance(made, dict) or not all(isinstance(one, str) for one in made.values()):
        raise DamagedArtefact(f"{file} does not say kind, hash, config and software of its run; {RESTORE}")
    return RunDescription(path, str(kind), str(digest), dict(config or {}), made)


def _read_object(file: Path) -> dict[str, Any]:
    found = read_json(file, remedy=RESTORE)
    if not isinstance(found, dict):
        raise DamagedArtefact(f"{file} is not the config of a quantascope run; choose another folder")
    return found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other writers; the system releases the lock when the process dies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise StorageFailed(f"cannot write to {folder}: {error.strerror}; {storage_remedy(error)}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunMismatch(
                f"{folder} is in use by another process; wait for it or use another folder"
            ) from None
        except OSError as error:
            raise StorageFailed(f"cannot lock {folder}: {error.strerror}; use a local folder") from error
        remove_partials(folder)
        yield
    finally:
        os.close(handle)


def read_settings(file: Path | None) -> dict[str, Any]:
    """The settings in a JSON file; empty without a file."""
    if file is None:
        return {}
    if not file.is_file():
        raise InvalidConfig(f"there is no config file {file}; give the path of a JSON file")
    found = read_json(file, remedy="give a JSON file of settings")
    if not isinstance(found, dict):
        raise InvalidConfig(f"{file} holds no settings by name; write a JSON object")
    return found


@dataclass(frozen=True)
class RunDirectory:
    """A folder that belongs to one config."""

    path: Path
    config: Config

    @property
    def hash(self) -> str:
        """The hash that every artefact of this run carries."""
        return self.config.hash()

    @classmethod
    def open(
        cls, path: Path | str, config: Config, *, replace: bool = False, remedy: str = ELSEWHERE
    ) -> "RunDirectory":
        """The run of this config at `path`, created if it does not exist.

        With `replace`, a run of the same kind with another config is overwritten; otherwise raises with the
        `remedy`.
        """
        run = cls(Path(path), config)
        if replace:
            run._replace_other()
        if not run._holds_config():
            with run.locked():
                if not run._holds_config():  # unless another process was faster
                    write_record(run.path / CONFIG, run._description(), made_by=run.hash)
        run._check_config(remedy)
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run against other writers."""
        with locked(self.path):
            yield

    def complete(self, files: Iterable[str], make: Callable[["RunDirectory"], None]) -> None:
        """Make the run under its lock unless its `files` exist; `make` resumes an unfinished run."""
        with self.locked():
            if not all((self.path / file).exists() for file in files):
                make(self)

    @property
    def made_with(self) -> dict[str, str]:
        """The software that started this run."""
        return read_run(self.path).made_with

    def _description(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": self.config.KIND or type(self.config).__name__,
            "hash": self.hash,
            "config": self.config.model_dump(mode="json"),
            "made_with": made_with(),
        }

    def _holds_config(self) -> bool:
        """Whether this is already a run; raises if the folder has other files."""
        try:
            if (self.path / CONFIG).exists():
                return True
            # Hidden files are the lock and temporary files of killed processes.
            occupied = self.path.is_dir() and any(not f.name.startswith(".") for f in self.path.iterdir())
        except OSError as error:
            raise StorageFailed(f"cannot read {self.path}: {error.strerror}; {storage_remedy(error)}") from error
        if occupied:
            raise DamagedArtefact(f"{self.path} holds files but no config.json; choose an empty or new folder")
        return False

    def _replace_other(self) -> None:
        """Remove the files of another config, config.json last, so that an interrupted removal can be repeated."""
        if not is_there(self.path / CONFIG):
            return
        with self.locked():
            found = read_run(self.path)
            if found.kind != self._description()["kind"] or found.hash == self.hash:
                return
            for entry in self.path.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                elif entry.name not in (CONFIG, LOCK):
                    entry.unlink()
            write_record(self.path / CONFIG, self._description(), made_by=self.hash)

    def _check_config(self, remedy: str) -> None:
        found, wanted = read_run(self.path), self._description()
        if found.kind != wanted["kind"]:
            raise RunMismatch(
                f"{self.path} is a run of '{found.kind}', not of '{wanted['kind']}'; choose another folder"
            )
        if found.hash != self.hash:
            changes = "; ".join(differences(found.config, wanted["config"])[:3]) or "its hash"
            raise RunMismatch(f"{self.path} belongs to another config ({changes}); {remedy}")
