"""Fitting a Q-model and watching it, as a user does it."""

import json

import pytest

from quantascope.cli import main

TINY = ["steps=6", "intervals=3", "replays=2", "model.blocks=2", "model.width=8", "model.hidden=8"]
SHORT = ["--set", "updates=4", "parts=6"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "source"
    assert main(["train", "number-naming", "--out", str(folder), "--set", *TINY]) == 0
    assert main(["fit", str(folder)]) == 2
    assert main(["discover", str(folder), "--workers", "1"]) == 0
    assert main(["fit", str(folder), *SHORT]) == 0
    return folder


def test_a_fit_shows_both_models_and_keeps_files_that_run_alone(run, capsys):
    assert main(["fit", str(run), *SHORT]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for says in ("agreement with the source", "active writers per event", "channels", "parameters"):
        assert says in shown
    assert main(["fit", str(run), *SHORT, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["recipe"], told["panel"]) == ("faithful", "test")
    assert {"qmodel.json", "qmodel.safetensors"} <= {file.name for file in (run / "qmodel" / "faithful").iterdir()}


@pytest.mark.parametrize("number", ["346", "800", "999999"])
def test_a_trace_is_a_table_a_picture_and_json(run, number, capsys):
    assert main(["trace", str(run), number]) == 0
    assert f"{int(number):,}: the faithful Q-model says" in capsys.readouterr().out
    assert (run / "qmodel" / "faithful" / f"trace-{number}.png").is_file()
    assert main(["trace", str(run), number, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["number"] == int(number)
    assert [step["token"] for step in told["steps"]] == told["output"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trace", "RUN", "0"], "0 has no name here; give a number from 1 to 999,999"),
        (["trace", "RUN", "1000000"], "1000000 has no name here"),
        (["trace", "RUN", "7", "--recipe", "distilled"], "has no distilled Q-model; make it with quantascope fit"),
        (["fit", "RUN", "--set", "updatez=3"], "unknown key 'updatez' in RecoveredFit; did you mean 'updates'?"),
        (["fit", "RUN", "--set", "updates=5"], "belongs to another config"),
        (["fit", "nowhere"], "nowhere is not a run"),
    ],
)
def test_mistakes_are_answered_in_one_line(run, arguments, complaint, capsys):
    assert main([str(run) if part == "RUN" else part for part in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
