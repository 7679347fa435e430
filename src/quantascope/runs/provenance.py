"""Records the software that made a run or a result."""

import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parents[3]
"""The checkout, if the package is used from one."""
_QUIETLY = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""Options that keep git from running programs named in a repository's settings."""


@cache
def made_with() -> dict[str, str]:
    """Versions that numbers depend on, and the commit of the source if it is a checkout."""
    packages = {name: importlib.metadata.version(name) for name in ("quantascope", "torch", "numpy")}
    return {**packages, "python": platform.python_version(), "commit": commit_of(HERE)}


def commit_of(checkout: Path) -> str:
    """The commit of quantascope's checkout; None for an installed package inside another repository."""
    if not (checkout / ".git").exists() or not (checkout / "src" / "quantascope").is_dir():
        return "unknown"
    git = ["git", *_QUIETLY, "-C", str(checkout)]
    try:
        head = _output([*git, "rev-parse", "HEAD"])
        changed = _output([*git, "status", "--porcelain", "--", "src/quantascope"])
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}-changed" if changed else head


def _output(command: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {**environment, "GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=quiet).stdout.strip()
