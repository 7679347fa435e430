"""`make numbers` finds the benchmark of every committed file."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("file", sorted((ROOT / "results" / "benchmarks").glob("*.json")), ids=lambda file: file.stem)
def test_a_benchmark_of_the_same_name_writes_a_committed_file(file):
    program = ast.parse((ROOT / "benchmarks" / f"{file.stem.replace('-', '_')}.py").read_text())
    calls = (node for node in ast.walk(program) if isinstance(node, ast.Call))
    options = {call.args[0].value: call for call in calls if call.args and isinstance(call.args[0], ast.Constant)}
    kind = {keyword.arg: ast.unparse(keyword.value) for keyword in options["--json"].keywords}
    assert kind["type"] == "Path"
