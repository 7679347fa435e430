"""The tutorials run from their first cell to their last, and the site shows what they show."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
assert _spec
assert _spec.loader
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


def kinds(notebook):
    """What each cell shows: text, pictures."""
    return [
        [sorted(output.get("data", {"text": ""})) for output in cell.get("outputs", ())]
        for cell in notebook["cells"]
    ]


@pytest.mark.parametrize(("name", "sizes"), [("own-model", {"STEPS": 60}), ("own-program", {"STEPS": 5})])
def test_a_tutorial_runs_and_shows_what_its_committed_outputs_show(name, sizes):
    committed = notebooks.read(notebooks.FOLDER / f"{name}.ipynb")
    here = Path.cwd()
    assert kinds(notebooks.run(committed, sizes)) == kinds(committed)
    assert Path.cwd() == here


def test_a_cell_shows_what_it_prints_and_then_its_last_value():
    def code(source, **metadata):
        return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": []}

    cells = [code(["size = 9"], tags=["sizes"]), code(["print('two')\n", "size + 1"]), code(["size;"])]
    ran = notebooks.run({"cells": [*cells, {"cell_type": "markdown", "source": ["end"]}]}, {"size": 2})
    assert notebooks.markdown(ran) == (
        "```python\nsize = 9\n```\n\n```python\nprint('two')\nsize + 1\n```\n\n"
        "```text\ntwo\n```\n\n```text\n3\n```\n\n```python\nsize;\n```\n\nend"
    )


def test_committed_notebooks_are_small():
    for path in notebooks.FOLDER.glob("*.ipynb"):
        assert len(json.dumps(notebooks.read(path))) < 300_000, path.name
