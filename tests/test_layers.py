"""Imports point one way: a room may import the rooms before it in this list, and none after it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import quantascope

SOURCE = Path(quantascope.__file__).parent
ROOMS = (
    "runs", "quanta", "theory", "tasks", "program", "programs", "models", "training", "sources", "acquisition",
    "discovery", "qmodel", "guidance", "scaling", "semantics", "report", "explorer", "claims", "cli",
)  # fmt: skip
APART = {
    "runs": set(),
    "quanta": {"runs"},
    "theory": {"runs"},
    "program": {"runs", "quanta"},
}
"""Rooms that work without torch may import only each other; of `runs`, only what does without it."""


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def room_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0]


FILES = [file for file in sorted(SOURCE.rglob("*.py")) if file.parent != SOURCE]
by_name = {"argvalues": FILES, "ids": lambda file: str(file.relative_to(SOURCE))}


def test_every_room_is_in_the_list():
    assert {room_of(file) for file in FILES} == set(ROOMS)


@pytest.mark.parametrize("file", **by_name)
def test_a_module_imports_only_the_rooms_before_its_own(file):
    own = room_of(file)
    used = {name.split(".")[1] for name in imported(file) if name.startswith("quantascope.")} - {own}
    assert used <= APART.get(own, set(ROOMS[: ROOMS.index(own)]))


@pytest.mark.parametrize("file", **by_name)
def test_only_reports_and_claims_draw(file):
    if room_of(file) not in ("report", "claims"):
        assert not any(name.split(".")[0] == "matplotlib" for name in imported(file))


@pytest.mark.parametrize("room", ["quanta", "theory", "program", "semantics"])
def test_theory_compiler_and_naming_work_without_torch(room):
    program = f"import sys, quantascope.{room}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
