"""Imports point one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import quantascope

SOURCE = Path(quantascope.__file__).parent
MAY_IMPORT = {
    "errors": set(),
    "config": {"errors"},
    "theory": {"errors"},
    "artefact": {"errors"},
    "run": {"errors", "config", "artefact", "provenance"},
    "graph": {"errors"},
    "labels": {"errors"},
    "properties": {"errors"},
    "semantics": {"errors", "properties"},
    "tasks": {"errors", "config", "theory", "properties"},
    "program": {"errors", "graph", "labels", "properties"},
    "programs": {"errors", "program", "tasks"},
    "models": {"errors", "config", "artefact", "tasks"},
    "qmodel": {"errors", "config", "artefact", "graph", "labels", "tasks", "models"},
    "guidance": {"errors", "tasks", "models", "qmodel"},
    "interruption": set(),
    "training": {"errors", "config", "artefact", "run", "interruption"},
    "acquisition": {"errors", "config", "theory", "tasks", "models"},
    "priority": {"errors", "config", "artefact", "tasks", "models", "training", "acquisition"},
    "scaling": {"errors", "theory", "tasks"},
    "engine": {"errors", "interruption"},
    "provenance": set(),
    "sweep": {"errors", "config", "artefact", "engine", "training"},
    "experiments": {
        "errors", "config", "artefact", "run", "theory", "tasks", "models", "training", "acquisition", "sweep",
        "provenance", "priority", "scaling", "program", "programs", "qmodel", "guidance",
        "properties", "semantics",
    },
    "report": {
        "errors", "artefact", "theory", "tasks", "training", "acquisition", "priority", "scaling", "experiments",
        "graph", "program", "sweep", "semantics",
    },
    "cli": {
        "errors", "artefact", "engine", "theory", "experiments", "program", "programs", "report", "run", "sweep",
    },
}  # fmt: skip


def layer_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


FILES = [file for file in sorted(SOURCE.rglob("*.py")) if file != SOURCE / "__init__.py"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_the_layers_below_its_own(file):
    own = layer_of(file)
    used = {name.split(".")[1] for name in imported(file) if name.startswith("quantascope.")}
    assert used <= MAY_IMPORT[own] | {own}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_reports_draw(file):
    if layer_of(file) != "report":
        assert not any(name.split(".")[0] == "matplotlib" for name in imported(file))


@pytest.mark.parametrize("layer", ["theory", "program", "semantics"])
def test_theory_compiler_and_naming_work_without_torch(layer):
    program = f"import sys, quantascope.{layer}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
