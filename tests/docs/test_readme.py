"""What the README shows can be done as it is written."""

import json
import shlex
from pathlib import Path

import pytest

from quantascope.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODEL, PROGRAM = (block.split("```")[0] for block in README.split("```python\n")[1:])
TABLE = README.split("```text\n")[1].split("```")[0]
COMMANDS = [line for line in README.splitlines() if "reverse.py" in line and line.startswith("quantascope")]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_model_of_ones_own_has_a_table_of_quanta_with_the_shown_columns(capsys):
    exec(MODEL, {})
    shown, printed = TABLE.splitlines(), capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in shown[1].split("┆")] == [cell.strip() for cell in printed[2].split("┆")]
    assert sum("L0.Q" in line or "L1.Q" in line for line in printed) >= 3


@pytest.mark.filterwarnings("ignore:the teacher answers")  # it is hardly trained here
def test_a_program_of_ones_own_trains_a_transformer_by_the_shown_commands():
    Path("reverse.py").write_text(PROGRAM)
    assert len(COMMANDS) == 3
    for command in COMMANDS:
        weak = ["--weak-teacher"] if "guide" in command else []
        quick = shlex.split(command.replace("steps=300", "steps=5"))[1:]
        assert main([*quick[:1], *weak, *quick[1:]] if weak else quick) == 0
    assert Path("runs/guided/model.safetensors").exists()


def test_the_shown_accuracies_are_those_of_the_tutorial():
    cells = json.loads((ROOT / "docs/tutorials/own-program.ipynb").read_text())["cells"]
    said = "".join(line for cell in cells for output in cell.get("outputs", ()) for line in output.get("text", ()))
    for name, words in (("guided by the program", "The guided one reverses"), ("answers alone", "the plain one")):
        exact = said.split(f"{name}: ")[1].split("%")[0]
        assert f"{words} {exact} %" in " ".join(README.split())
