"""quantascope as a user has it: built, installed into a folder, away from the checkout."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "node_modules")

Run = Callable[..., Any]
"""Runs a program, given its arguments, and returns the JSON that it prints last."""


def build(kind: str, source: Path, out: Path) -> Path:
    """The file that building a source folder makes, as `pip` builds it, without a network."""
    program = f"import setuptools.build_meta as b; print('\\n' + b.build_{kind}({str(out)!r}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=source, capture_output=True, text=True, check=True)
    return out / done.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def sdist(tmp_path_factory) -> Path:
    """The sources, packed from a copy of the checkout."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, copy)
    for name in ("src", "results"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=LEFT_OUT)
    return build("sdist", copy, out)


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory) -> Path:
    """The wheel, built from the packed sources."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    return build("wheel", unpacked / sdist.name.removesuffix(".tar.gz"), sdist.parent)


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory) -> Path:
    """A folder with quantascope installed."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True)
    return folder


@pytest.fixture(scope="session")
def run(site) -> Run:
    """Runs a program with the installed quantascope."""

    def run(*arguments: str, cwd: Path) -> Any:
        environment = {**os.environ, "PYTHONPATH": str(site)}
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
