"""Opening runs of every kind, and the command that shows them."""

import re
import webbrowser
from pathlib import Path

import pytest

from quantascope.cli import main
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.explorer.server import ExplorerServer
from quantascope.guidance.guide import RESULT
from quantascope.guidance.learner import GuidedLearner
from quantascope.runs.accuracy import write_accuracy
from quantascope.runs.config import Config
from quantascope.runs.errors import QuantascopeError
from quantascope.runs.run_directory import RunDirectory


@pytest.fixture
def guided(tmp_path):
    """What is left of a guided training: its accuracy."""
    found = []
    for name, weight, share in (("guided", 1.0, 0.9), ("plain", 0.0, 0.6)):
        run = RunDirectory.open(tmp_path / name, GuidedLearner(weight=weight))
        write_accuracy(run.path / RESULT, {"balanced_exact": share}, made_by=run.hash)
        found.append(str(run.path))
    return found


def test_every_run_says_of_every_view_whether_it_is_there(run, compiled_run, forest_run, guided, getter):
    get = getter(Explorer(open_runs([str(run), str(compiled_run), str(forest_run), *guided]), ""))
    index = get("index")
    assert index["damaged"] == []
    assert [one["kind"] for one in index["runs"]] == ["source", "compiled", "forest", "guided", "guided"]
    there = [{name for name, view in one["views"].items() if view["there"]} for one in index["runs"]]
    assert there == [
        {"training", "quanta", "trace", "intervene"},
        {"program", "compare"},
        {"dynamics"},
        {"compare"},
        {"compare"},
    ]
    for one in index["runs"]:
        assert len(one["views"]) == 8
        assert all(view["there"] or view["missing"] for view in one["views"].values())


def test_a_view_of_another_kind_of_run_names_the_run_to_choose_or_how_to_open_one(run, forest_run, getter):
    source, forest = getter(Explorer(open_runs([str(run), str(forest_run)]), "quantascope explore A B"))("index")[
        "runs"
    ]
    assert forest["views"]["trace"]["missing"] == f"Trace shows a source; choose {source['title']} as the run."
    assert source["views"]["program"] == {
        "there": False,
        "missing": "Program shows the compiled Q-model of a program; open one.",
        "command": "quantascope explore A B ANOTHER",
    }


def test_guided_networks_are_compared_with_and_without_guidance(guided, getter):
    shown = getter(Explorer(open_runs(guided), ""))("compare", runs="0,1")
    assert [one["accuracy"] for one in shown["runs"]] == [{"balanced_exact": 0.9}, {"balanced_exact": 0.6}]
    assert [one["settings"] for one in shown["runs"]] == [[["weight", "1.0"]], [["weight", "0.0"]]]


def test_a_run_of_a_kind_that_nobody_shows_is_refused(tmp_path):
    class Other(Config):
        KIND = "something else"

    RunDirectory.open(tmp_path / "other", Other())
    with pytest.raises(QuantascopeError, match="is a run of 'something else'"):
        open_runs([str(tmp_path / "other")])


@pytest.fixture
def ended(monkeypatch):
    """A server that is interrupted at once."""

    def interrupt(server, meanwhile):
        meanwhile()
        raise KeyboardInterrupt

    monkeypatch.setattr(ExplorerServer, "serve", interrupt)


class Browser(webbrowser.BaseBrowser):
    """Notes what it is asked to open."""

    def __init__(self):
        super().__init__()
        self.opened = []

    def open(self, url, new=0, autoraise=True):
        self.opened.append(url)
        return True


def test_the_command_opens_the_browser_at_the_address_that_it_prints(forest_run, ended, monkeypatch, capsys):
    browser = Browser()
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    assert main(["explore", str(forest_run)]) == 130
    [address] = re.findall(r"http://127\.0\.0\.1:\d+/", capsys.readouterr().err)
    assert browser.opened == [address]
    assert main(["explore", str(forest_run), "--no-browser"]) == 130
    assert len(browser.opened) == 1


@pytest.mark.parametrize("found", [webbrowser.Error("none"), webbrowser.GenericBrowser("w3m")])
def test_without_a_display_the_address_is_enough(forest_run, ended, found, monkeypatch, capsys):
    def get():
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(webbrowser, "get", get)
    assert main(["explore", str(forest_run)]) == 130
    assert "no browser was found; open the address yourself" in capsys.readouterr().err


def test_other_machines_are_let_in_with_a_warning_and_a_token(forest_run, ended, capsys):
    assert main(["explore", str(forest_run), "--host", "0.0.0.0", "--no-browser"]) == 130
    told = capsys.readouterr().err
    assert "warning: other machines can reach 0.0.0.0" in told
    assert re.search(r"/\?token=[\w-]{32}", told)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "there is no folder nowhere"),
        ([str(Path(__file__).parent)], "is neither a run nor a folder of checkpoints"),
        (["RUN", "--port", "99999"], "cannot listen at 127.0.0.1:99999"),
        (["RUN", "--port", "-1"], "cannot listen at 127.0.0.1:-1"),
        (["RUN", "--host", "no.such.host.example"], "cannot listen at no.such.host.example"),
    ],
)
def test_mistakes_are_answered_in_one_line(forest_run, arguments, complaint, capsys):
    arguments = [str(forest_run) if one == "RUN" else one for one in arguments]
    assert main(["explore", *arguments, "--no-browser"]) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.splitlines()[-1].startswith("quantascope: ")
    assert "Traceback" not in told
