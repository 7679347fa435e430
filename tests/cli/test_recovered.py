"""Fitting a Q-model and watching it, as a user does it."""

import json
import shutil

import pytest

from quantascope.cli import main
from quantascope.report.qmodel import qmodel_text
from quantascope.runs.artefact import read_facts, read_tensors, write_tensors

TINY = ["steps=6", "intervals=3", "replays=2", "model.blocks=2", "model.width=8", "model.hidden=8"]
SHORT = ["--set", "updates=4", "parts=6"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, threads):
    folder = tmp_path_factory.mktemp("cli") / "source"
    with threads():
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
    assert (told["preset"], told["panel"]) == ("faithful", "test")
    assert {"qmodel.json", "qmodel.safetensors"} <= {file.name for file in (run / "qmodel" / "faithful").iterdir()}


def test_a_fit_of_other_settings_replaces_one_and_all_that_was_found_with_it(run, tmp_path, capsys):
    folder = shutil.copytree(run, tmp_path / "source")
    (folder / "qmodel" / "faithful" / "trace-346.png").write_bytes(b"of the other fit")
    assert main(["fit", str(folder), *SHORT, "seed=3", "--replace"]) == 0
    assert not (folder / "qmodel" / "faithful" / "trace-346.png").exists()
    made = json.loads((folder / "qmodel" / "faithful" / "config.json").read_text())["config"]
    assert (made["updates"], made["seed"]) == (4, 3)
    kept = (folder / "qmodel" / "faithful" / "qmodel.safetensors").read_bytes()
    assert kept != (run / "qmodel" / "faithful" / "qmodel.safetensors").read_bytes()


def test_channels_are_listed_where_they_are_few_and_counted_where_they_are_many(run, capsys):
    assert main(["fit", str(run), *SHORT, "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert "channels  A → B, A → C\n" in qmodel_text(about | {"channels": [["A", "B"], ["A", "C"]]})
    assert "channels  40, in qmodel.json\n" in qmodel_text(about | {"channels": [["A", "B"]] * 40})


@pytest.mark.parametrize("number", ["346", "800", "999999"])
def test_a_trace_is_a_table_a_picture_and_json(run, number, capsys):
    assert main(["trace", str(run), number]) == 0
    short = capsys.readouterr().out
    assert f"{number}: the faithful Q-model says" in short
    assert main(["trace", str(run), number, "--all"]) == 0
    assert len(capsys.readouterr().out) >= len(short)
    assert (run / "qmodel" / "faithful" / f"trace-{number}.png").is_file()
    assert main(["trace", str(run), number, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["input"] == number
    assert [step["token"] for step in told["steps"]] == told["output"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trace", "RUN", "0"], "0 has no name here; give a number from 1 to 999,999"),
        (["trace", "RUN", "1000000"], "1000000 has no name here"),
        (["trace", "RUN", "7", "--preset", "distilled"], "has no distilled Q-model; make it with quantascope fit"),
        (["fit", "RUN", "--set", "updatez=3"], "unknown key 'updatez' in RecoveredFit; did you mean 'updates'?"),
        (["fit", "RUN", "--set", "updates=5"], "fit it again with --replace, or move it away"),
        (["fit", "RUN", "--set", "threshold=0.01"], "'threshold' is not for --set, it comes from the source"),
        (["fit", "RUN", "--set", "source.seed=1"], "'source.seed' is not for --set"),
        (["fit", "RUN", "--set", "preset=distilled"], "'preset' is not for --set"),
        (["fit", "nowhere"], "there is no folder nowhere; give a run folder"),
    ],
)
def test_mistakes_are_answered_in_one_line(run, arguments, complaint, capsys):
    assert main([str(run) if part == "RUN" else part for part in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err
    assert captured.err.count("\n") == 1


@pytest.fixture
def copied(run, tmp_path):
    return shutil.copytree(run, tmp_path / "source")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"kind": "recovered Q-model", "width": -4}'])
def test_a_damaged_qmodel_is_made_again_as_the_complaint_says(copied, content, capsys):
    file = "qmodel.safetensors"
    whole = (copied / "qmodel" / "faithful" / file).read_bytes()
    (copied / "qmodel" / "faithful" / file).write_bytes(content)
    capsys.readouterr()
    assert main(["trace", str(copied), "346"]) == 2
    complaint = capsys.readouterr().err
    assert file in complaint
    assert "move it away" in complaint
    assert complaint.count("\n") == 1
    (copied / "qmodel" / "faithful" / file).unlink()
    assert main(["fit", str(copied), *SHORT]) == 0
    assert (copied / "qmodel" / "faithful" / file).read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"width": -4},
        {"blocks": 1},
        {"blocks": 10**30},
        {"blocks": 10**7},
        {"layers": []},
        {"layers": [-1, 0, 1]},
        {"layers": [0.5]},
        {"vocabulary": 3},
        {"vocabulary": "a" * 44},
        {"positions": 10**30},
        {"interface": None},
    ],
)
def test_an_impossible_description_of_a_qmodel_is_refused_in_one_line(copied, change, capsys):
    file = copied / "qmodel" / "faithful" / "qmodel.safetensors"
    tensors, facts = read_tensors(file, made_by=None)
    made_by = read_facts(file)["config"]
    write_tensors(file, tensors, made_by=made_by, kind=facts["kind"], about=facts["about"] | change)
    assert main(["trace", str(copied), "346"]) == 2
    complaint = capsys.readouterr().err
    assert "qmodel.safetensors does not describe a recovered Q-model" in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("content", ["[]", "{}", '{"config": {}}', '{"config": []}'])
def test_a_damaged_config_of_a_fit_is_refused_in_one_line(copied, content, capsys):
    (copied / "qmodel" / "faithful" / "config.json").write_text(content)
    assert main(["trace", str(copied), "346"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_qmodel_of_another_source_is_refused(run, tmp_path, capsys):
    other = tmp_path / "other"
    assert main(["train", "number-naming", "--out", str(other), "--seed", "1", "--set", *TINY]) == 0
    shutil.copytree(run / "qmodel", other / "qmodel")
    shutil.copy(run / "factors.safetensors", other)
    capsys.readouterr()
    assert main(["trace", str(other), "346"]) == 2
    assert (
        f"belongs to another source; fit again with quantascope fit {other} --replace" in capsys.readouterr().err
    )
