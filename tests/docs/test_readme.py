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


def test_a_model_of_ones_own_has_the_shown_table_of_quanta(capsys):
    exec(MODEL, {})
    (head, *shown), (printed_head, *printed) = _rows(TABLE), _rows(capsys.readouterr().out)
    assert head == printed_head
    found = {row[0]: row for row in printed}
    for quantum, acquired, demand, explained, words in (row for row in shown if "…" not in row):
        assert [acquired, words] == [found[quantum][1], found[quantum][4]]
        assert [float(demand), float(explained)] == pytest.approx([*map(float, found[quantum][2:4])], rel=0.05)
    assert len(printed) > len(shown)


def _rows(table):
    """The cells of each line of a printed table."""
    lines = (line.strip("│ ").split("┆") for line in table.splitlines() if "┆" in line and "---" not in line)
    rows = [[cell.strip() for cell in line] for line in lines]
    return [row for row in rows if row[-1] != "str"]


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
    shown = {"guided by the program": "learns to reverse", "answers alone": "of new words, and one without it"}
    for name, words in shown.items():
        exact = said.split(f"{name}: ")[1].split("%")[0]
        assert f"{words} {exact} %" in " ".join(README.split())
