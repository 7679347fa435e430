"""The offline file: what it holds, and what it does not."""

import json
import re
import shutil

import pytest

from quantascope.cli import main
from quantascope.explorer import offline
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.offline import embedded_answers, offline_page
from quantascope.explorer.open import open_runs


@pytest.fixture(scope="module")
def page(run, forest_run):
    opened = open_runs([str(run), str(forest_run)], bare=True)
    command = "quantascope explore " + " ".join(one.named for one in opened)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline, "INTERVENTIONS", ("force",))
        return offline_page(Explorer(opened, command), ["346", "no number"])


@pytest.fixture(scope="module")
def answers(page):
    return embedded_answers(page)


def test_it_holds_every_view_and_the_chosen_traces(answers, get):
    assert answers["/api/runs/0/quanta"] == get("runs/0/quanta")
    assert answers["/api/runs/0/training"] == get("runs/0/training")
    assert answers["/api/runs/0/trace?input=346"] == get("runs/0/trace", input="346")
    assert answers["/api/runs/0/inputs"]["inputs"] == ["346"]
    assert {"/api/index", "/api/runs/1/dynamics", "/api/runs/0/units"} <= answers.keys()
    bounds = answers["/api/runs/0/training"]["bounds"]
    for first in range(len(bounds)):
        for last in range(first + 1, len(bounds)):
            assert f"/api/runs/0/interval?from={bounds[first]}&to={bounds[last]}" in answers
    for row in answers["/api/runs/0/quanta"]["quanta"]:
        name = row["name"]
        assert f"/api/runs/0/quantum?name={name}" in answers
        assert f"/api/runs/0/events?name={name}&which=absent" in answers
        assert f"/api/runs/0/preview?input=346&unit=ablate+{name}" in answers
        assert f"/api/runs/0/intervene?panel=causal&units=force+{name}" in answers


def test_it_has_no_path_of_this_machine(answers, run):
    text = json.dumps(answers)
    for part in (str(run), str(run.parent), "/tmp", "/home", "site-packages"):
        assert part not in text
    assert answers["/api/index"]["runs"][0]["title"] == "tiny"


def test_a_damaged_run_leaves_what_can_be_read_and_no_path(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "damaged")
    (folder / "factors.safetensors").write_bytes(b"no factors")
    held = embedded_answers(offline_page(Explorer(open_runs([str(folder)], bare=True), "")))
    assert held["/api/runs/0/training"]["losses"]
    assert "/api/runs/0/quanta" not in held
    assert "damaged/factors.safetensors" in held["/api/index"]["damaged"][0]
    assert str(tmp_path) not in json.dumps(held)


def test_it_forbids_every_request(page):
    text = page.decode()
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "connect-src 'none'" in policy[1].replace("&#x27;", "'")
    assert text.index("Content-Security-Policy") < text.index("<script")
    assert text.index('id="embedded"') < text.index('type="module"')


def test_the_command_writes_a_file_tells_its_size_and_replaces_none(forest_run, tmp_path, capsys):
    file = tmp_path / "page.html"
    arguments = ["explore", str(forest_run), "--html", str(file), "--results", str(tmp_path)]
    assert main(arguments) == 0
    assert re.search(r"page  .*page\.html, \d\.\d MB", capsys.readouterr().out)
    before = file.read_bytes()
    assert main(arguments) == 2
    assert "page.html already exists; give another name, or --replace" in capsys.readouterr().err
    assert file.read_bytes() == before
    views = embedded_answers(before)["/api/index"]["runs"][0]["views"]
    assert not views["claims"]["there"]


def test_results_that_cannot_be_read_leave_the_page_without_claims(forest_run, tmp_path):
    (tmp_path / "paper.toml").write_text("")
    page = tmp_path / "page.html"
    assert main(["explore", str(forest_run), "--html", str(page), "--results", str(tmp_path)]) == 0
    answers = embedded_answers(page.read_bytes())
    assert not answers.get("/api/claims")
    assert not answers["/api/index"]["runs"][0]["views"]["claims"]["there"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--html", "FOLDER/page.pdf"], "end it in .html"),
        (["--html", "FOLDER/none/page.html"], "there is no folder"),
        (["--inputs", "7", "--no-browser"], "--inputs and --replace require --html FILE"),
    ],
)
def test_mistakes_are_answered_in_one_line(run, tmp_path, arguments, complaint, capsys):
    assert main(["explore", str(run), *(one.replace("FOLDER", str(tmp_path)) for one in arguments)]) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1
