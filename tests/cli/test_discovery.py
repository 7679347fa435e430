"""Training a source, auditing it and finding its quanta, as a user does it."""

import json
import warnings

import pytest

from quantascope.cli import main
from quantascope.discovery import PriorityField

TINY = ["steps=6", "intervals=3", "replays=0", "model.blocks=2", "model.width=8", "model.hidden=8"]


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "source"
    assert main(["train", "number-naming", "--out", str(folder), "--set", *TINY]) == 0
    return folder


def test_training_shows_accuracy_by_panel_and_length(run, capsys):
    assert main(["train", "number-naming", "--out", str(run), "--set", *TINY]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "6 steps, the loss rose in 0.0 % of them" in shown
    for panel in ("training", "test", "zero_gap", "short_tail"):
        assert panel in shown
    assert main(["train", "number-naming", "--out", str(run), "--json", "--set", *TINY]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 6
    assert {"panel": "training", "length": "all", "inputs": 300}.items() <= told["accuracy"][0].items()


def test_a_sound_run_passes_the_audit_and_a_damaged_one_does_not(run, tmp_path, capsys):
    assert main(["audit", str(run)]) == 0
    assert "4 checkpoints, nothing wrong" in capsys.readouterr().out
    for step in (0, 4):
        (tmp_path / f"step-{step}.safetensors").write_bytes(
            (run / "checkpoints" / f"step-{step:08d}.safetensors").read_bytes()
        )
    (tmp_path / "step-2.safetensors").write_bytes(b"not a checkpoint")
    assert main(["audit", str(tmp_path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [finding["kind"] for finding in report["findings"]] == ["unreadable"]


def test_discovery_prints_quanta_and_keeps_factors_and_a_picture(run, capsys):
    assert main(["discover", str(run), "--workers", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "quanta of" in shown
    assert "Held-out priority" in shown
    assert "L0: block 0" in shown
    assert "of the loss change" in shown
    assert {"factors.safetensors", "discovery.png", "discovery.svg"} <= {file.name for file in run.iterdir()}
    assert main(["discover", str(run), "--workers", "1", "--threshold", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["threshold"] == 0.2
    assert all(quantum["explained"] >= 0.2 for quantum in found["quanta"])
    assert found["completeness"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["discover", "nowhere"], "there is no folder nowhere; give a run folder"),
        (["audit", "nowhere"], "there is no folder nowhere"),
        (["train", "number-naming", "--out", "x", "--set", "stepz=3"], "unknown key 'stepz' in SourceConfig"),
    ],
)
def test_mistakes_are_answered_in_one_line(arguments, complaint, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err
    assert captured.err.count("\n") == 1


def test_an_impossible_threshold_or_panel_is_refused(run, capsys):
    assert main(["discover", str(run), "--workers", "1", "--threshold", "3"]) == 2
    assert "threshold 3 is not a share" in capsys.readouterr().err
    assert main(["discover", str(run), "--workers", "1", "--panel", "holdout"]) == 2
    assert "there is no panel 'holdout'" in capsys.readouterr().err
    assert main(["discover", str(run), "--workers", "1", "--memory", "-1"]) == 2
    assert capsys.readouterr().err == "quantascope: a memory budget of -1 GB is too small; give more than 0\n"


def test_a_warning_is_one_line_like_an_error(run, monkeypatch, capsys):
    monkeypatch.setattr(
        PriorityField, "reliable", property(lambda field: warnings.warn("rough", stacklevel=2) or 1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["discover", str(run), "--workers", "1"]) == 0
    assert "quantascope: warning: rough\n" in capsys.readouterr().err


def test_a_threshold_that_nothing_reaches_leaves_the_old_files(run, capsys):
    assert main(["discover", str(run), "--workers", "1"]) == 0
    before = {name: (run / name).read_bytes() for name in ("factors.safetensors", "discovery.png")}
    capsys.readouterr()
    assert main(["discover", str(run), "--workers", "1", "--threshold", "0.99"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no factor explains 0.99 of its layer; the largest share is 0." in captured.err
    assert all((run / name).read_bytes() == content for name, content in before.items())
