"""What software made a run or a result."""

import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path


@cache
def made_with() -> dict[str, str]:
    """Versions that numbers depend on, and the commit of the source if it is a checkout."""
    packages = {name: importlib.metadata.version(name) for name in ("quantascope", "torch", "numpy")}
    return {**packages, "python": platform.python_version(), "commit": _commit()}


def _commit() -> str:
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = _output([*git, "rev-parse", "HEAD"])
        changed = _output([*git, "status", "--porcelain", "--", "."])
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}-changed" if changed else head


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
