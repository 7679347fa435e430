"""Data that come inside a Python package: where their file is, which version, and the digest of its bytes.

The package is found, not imported: none of its code runs.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from quantascope.runs.errors import InvalidConfig


@dataclass(frozen=True)
class PackagedData:
    """A file of an installed package."""

    package: str
    version: str
    digest: str
    path: Path

    @property
    def label(self) -> str:
        """Package, version and digest in one word."""
        return f"{self.package} {self.version} ({self.digest})"


@cache
def packaged_data(
    package: str, file: str, *, options: str = "", install: str = "'quantascope[data]'"
) -> PackagedData:
    """The data file of a package, which pip installs with these options: by default, with the extra `data`."""
    found = find_spec(package)
    folders = list(found.submodule_search_locations or ()) if found else []
    if not folders:
        raise InvalidConfig(f"the data of {package} are not installed; pip install {options}{install}")
    path = Path(folders[0]) / file
    if not path.is_file():
        raise InvalidConfig(
            f"{package} {version(package)} has no file {file}; pip install --force-reinstall {options}{install}"
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return PackagedData(package, version(package), digest, path)
