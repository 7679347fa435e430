"""The run directory: the contract between commands.

A run is a folder that one configuration made. `config.json` says which, and with what software; every other file
in it carries that config's hash. A process that writes to a run holds its lock, which the system releases when
the process dies.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quantascope.runs.artefact import read_json, remove_partials, write_json
from quantascope.runs.config import Config, differences
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch, StorageFailed
from quantascope.runs.provenance import made_with

FORMAT = 1


def read_settings(file: Path | None) -> dict[str, Any]:
    """The settings in a JSON file; none without a file."""
    if file is None:
        return {}
    if not file.is_file():
        raise InvalidConfig(f"there is no config file {file}; give the path of a JSON file")
    return read_json(file)


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
    def open(cls, path: Path | str, config: Config) -> "RunDirectory":
        """The run of this config at `path`, made if it is not there; refused if another config made it."""
        run = cls(Path(path), config)
        if not run._holds_config():
            with run.locked():
                if not run._holds_config():  # no other process was faster
                    write_json(run.path / "config.json", run._description())
        run._check_config()
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run against other writers."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StorageFailed(
                f"cannot write to {self.path}: {error.strerror}; mend permissions or write elsewhere"
            ) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunMismatch(
                    f"{self.path} is in use by another process; wait for it or use another folder"
                ) from None
            except OSError as error:
                raise StorageFailed(f"cannot lock {self.path}: {error.strerror}; use a local folder") from error
            remove_partials(self.path)
            yield
        finally:
            os.close(handle)

    @property
    def made_with(self) -> dict[str, str]:
        """The software that began this run."""
        return read_json(self.path / "config.json").get("made_with", {})

    def _description(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": type(self.config).__name__,
            "hash": self.hash,
            "config": self.config.model_dump(mode="json"),
            "made_with": made_with(),
        }

    def _holds_config(self) -> bool:
        """Whether this is a run already; a folder of other things is left alone."""
        try:
            if (self.path / "config.json").exists():
                return True
            # Hidden files are our lock and what a killed process left half written.
            occupied = self.path.is_dir() and any(not f.name.startswith(".") for f in self.path.iterdir())
        except OSError as error:
            raise StorageFailed(
                f"cannot read {self.path}: {error.strerror}; mend permissions or choose another folder"
            ) from error
        if occupied:
            raise DamagedArtefact(f"{self.path} holds files but no config.json; choose an empty or new folder")
        return False

    def _check_config(self) -> None:
        file = self.path / "config.json"
        found, wanted = read_json(file), self._description()
        if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
            raise DamagedArtefact(f"{file} is not the config of a quantascope run; choose another folder")
        if found.get("kind") != wanted["kind"]:
            raise RunMismatch(
                f"{self.path} is a run of {found.get('kind')}, not of {wanted['kind']}; choose another folder"
            )
        if found.get("format") != FORMAT or found.get("hash") != self.hash:
            changes = "; ".join(differences(found["config"], wanted["config"])[:3]) or "its format"
            raise RunMismatch(
                f"{self.path} belongs to another config ({changes}); choose another folder or remove it"
            )
