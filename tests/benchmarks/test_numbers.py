"""`make numbers` finds the benchmark of every committed file."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


NAMES = sorted(file.stem for file in (ROOT / "results" / "benchmarks").glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_of_the_same_name_writes_a_committed_file(name):
    program = ast.parse((ROOT / "benchmarks" / f"{name.replace('-', '_')}.py").read_text())
    calls = (node for node in ast.walk(program) if isinstance(node, ast.Call))
    options = {call.args[0].value: call for call in calls if call.args and isinstance(call.args[0], ast.Constant)}
    kind = {keyword.arg: ast.unparse(keyword.value) for keyword in options["--json"].keywords}
    assert kind["type"] == "Path"
