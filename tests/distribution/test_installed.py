"""What a user gets: the wheel works away from the checkout, without extras, and is typed."""

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def found(run, tmp_path_factory):
    return run(str(Path(__file__).with_name("first_steps.py")), cwd=tmp_path_factory.mktemp("user"))


def test_the_first_steps_run_where_only_the_wheel_and_no_extra_is_installed(found, site):
    assert Path(found["package"]) == site / "quantascope" / "__init__.py"
    assert found["versions"] == [VERSION] * 2
    assert found["quanta"]["quanta"]
    assert found["loaded"] == []


def test_the_committed_results_come_with_it(found):
    committed = [json.loads(file.read_text()) for file in (ROOT / "results").glob("*-full.json")]
    assert len(found["figures"]) >= len(committed)
    assert "acquired_displayed" in found["figures"]
    assert found["page"] > 10**6  # the drawings of the claims are inside


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    roots = {name.split("/")[0] for name in names}
    assert roots == {"quantascope", f"quantascope-{VERSION}.dist-info"}
    assert {"quantascope/py.typed", "quantascope/explorer/static/index.html"} <= {*names}
    drawings = {file.name for file in (ROOT / "results" / "figures").glob("*.svg")}
    assert drawings == {name.split("/")[-1] for name in names if name.endswith(".svg")}
    assert not any("/page/" in name or name.endswith((".pyc", ".png")) for name in names)


def test_the_type_checker_knows_the_public_names(site, tmp_path):
    (tmp_path / "user.py").write_text(
        "from quantascope import Poset\n"
        "order = Poset.from_edges(3, [(0, 1)])\n"
        "size: int = order.size\n"
        "wrong: int = order\n"
        "order.no_such_name\n"
    )
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(site)]}))
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson", "user.py"]
    done = subprocess.run([*command, "--pythonpath", sys.executable], cwd=tmp_path, capture_output=True, text=True)
    said = [(one["range"]["start"]["line"], one["rule"]) for one in json.loads(done.stdout)["generalDiagnostics"]]
    assert said == [(3, "reportAssignmentType"), (4, "reportAttributeAccessIssue")]


def test_the_version_is_that_of_the_newest_entry_of_the_changelog_and_of_the_citation():
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    released = next(line.split()[1] for line in citation if line.startswith("date-released:"))
    assert headings[0] == f"## {VERSION} ({released})"
    assert f"version: {VERSION}" in citation
