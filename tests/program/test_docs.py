"""The program of docs/own-program.md, as text there and as a file beside it."""

import ast
import doctest
from pathlib import Path

import pytest

from quantascope.cli import main
from quantascope.programs import find_task
from quantascope.qmodel.compiled.fit import CompiledLearner, check_program_task
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.errors import InvalidConfig

DOCS = Path(__file__).parents[2] / "docs"


def test_the_file_is_what_the_page_says():
    said = doctest.DocTestParser().get_examples((DOCS / "own-program.md").read_text())
    page = {ast.dump(node) for example in said for node in ast.parse(example.source).body}
    for node in ast.parse((DOCS / "plural.py").read_text()).body[1:]:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            assert ast.dump(node) in page, ast.unparse(node)


@pytest.mark.parametrize(
    ("file", "begins"), [("own_network.py", "def model"), ("guided_trainer.py", "class Guided")]
)
def test_what_the_page_shows_of_a_file_is_in_it(file, begins):
    blocks = (DOCS / "own-program.md").read_text().split("```python\n")[1:]
    shown = [block.split("```")[0] for block in blocks if block.startswith(begins)]
    assert len(shown) == 1
    assert shown[0] in (DOCS / file).read_text()


def test_it_compiles_and_writes_the_answers_of_its_task(capsys):
    assert main(["compile", str(DOCS / "plural.py")]) == 0
    assert "ENDING" in capsys.readouterr().out
    check_program_task(CompiledLearner(), program_task(str(DOCS / "plural.py")))


def test_a_task_is_found_by_its_own_name_and_by_that_of_its_program_alone():
    file = str(DOCS / "plural.py")
    assert find_task(f"{file}:task") is find_task(file)
    assert find_task(f"{file}:predict") is find_task(file)
    with pytest.raises(InvalidConfig, match=r"plural\.py has no task 'nope'"):
        find_task(f"{file}:nope")
    with pytest.raises(InvalidConfig, match=r"no task 'nmber-naming'; give .* number-naming, spelling"):
        find_task("nmber-naming")
