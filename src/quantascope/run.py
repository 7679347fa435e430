"""The run directory: the contract between commands.

A run is a folder that one configuration made. `config.json` says which; every other file in it carries that
config's hash. A process that writes to a run holds its lock, which the system releases when the process dies.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quantascope.artefact import read_json, write_json
from quantascope.config import Config, differences
from quantascope.errors import DamagedArtefact, RunMismatch, StorageFailed

FORMAT = 1


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
        described = {
            "format": FORMAT,
            "kind": type(config).__name__,
            "hash": run.hash,
            "config": config.model_dump(mode="json"),
        }
        file = run.path / "config.json"
        if not run._holds_config():
            write_json(file, described)
            return run
        found = read_json(file)
        if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
            raise DamagedArtefact(f"{file} is not the config of a quantascope run; choose another folder")
        if found.get("kind") != described["kind"]:
            raise RunMismatch(
                f"{path} is a run of {found.get('kind')}, not of {described['kind']}; choose another folder"
            )
        if found.get("format") != FORMAT or found.get("hash") != run.hash:
            changes = "; ".join(differences(found["config"], described["config"])[:3]) or "its format"
            raise RunMismatch(f"{path} belongs to another config ({changes}); choose another folder or remove it")
        return run

    def _holds_config(self) -> bool:
        """Whether this is a run already; a folder of other things is left alone."""
        try:
            if (self.path / "config.json").exists():
                return True
            occupied = self.path.is_dir() and any(self.path.iterdir())
        except OSError as error:
            raise StorageFailed(
                f"cannot read {self.path}: {error.strerror}; mend permissions or choose another folder"
            ) from error
        if occupied:
            raise DamagedArtefact(f"{self.path} holds files but no config.json; choose an empty or new folder")
        return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run against other writers."""
        try:
            handle = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StorageFailed(
                f"cannot write to {self.path}: {error.strerror}; mend permissions or write elsewhere"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise RunMismatch(
                f"{self.path} is in use by another process; wait for it or use another folder"
            ) from None
        finally:
            os.close(handle)
