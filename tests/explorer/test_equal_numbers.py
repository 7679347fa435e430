"""What the page shows is what the commands print."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from quantascope.acquisition.learner import read_curves
from quantascope.cli import main
from quantascope.cli.explorer import claims_of
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.runs.artefact import write_table

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def copied(run, tmp_path_factory):
    """Commands draw figures beside what they read."""
    return shutil.copytree(run, tmp_path_factory.mktemp("commands") / "tiny")


@pytest.fixture
def printed(copied, capsys, threads):
    """What a command on the tiny source prints as JSON."""

    def run_command(verb, *arguments):
        capsys.readouterr()
        with threads():
            assert main([verb, str(copied), *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run_command


def test_quanta_are_those_of_discover(get, printed):
    told, shown = printed("discover", "--workers", "1", "--threshold", "0.02"), get("runs/0/quanta")
    for key in ("rule", "threshold", "reliable", "completeness", "event_correlation"):
        assert shown[key] == told[key]
    assert [row["name"] for row in shown["quanta"]] == [row["quantum"] for row in told["quanta"]]
    for row, line in zip(shown["quanta"], told["quanta"], strict=True):
        assert {key: row[key] for key in line if key != "quantum"} == {
            k: v for k, v in line.items() if k != "quantum"
        }
    assert [(one["layer"], one["factors"], one["explained"]) for one in shown["layers"]] == [
        (one["layer"], one["factors"], one["explained"]) for one in told["layers"]
    ]
    assert get("runs/0/layers")["layers"] == told["layers"]


def test_a_trace_is_that_of_trace(get, printed):
    assert get("runs/0/trace", input="346") == printed("trace", "346")


def test_effects_are_those_of_intervene(get, printed):
    lines = ["ablate L0.Q0", "force L1.Q0", "replace L0.Q0", "delete-all"]
    shown = get("runs/0/intervene", panel="causal", units="\n".join(lines))
    told = printed(
        "intervene",
        "--ablate",
        "L0.Q0",
        "--force",
        "L1.Q0",
        "--replace",
        "L0.Q0",
        "--delete-all",
        "--panel",
        "causal",
    )
    assert (shown["where"], shown["events"]) == (told["where"], told["events"])
    by_title = {one["title"]: one for one in told["interventions"]}
    assert {one["title"] for one in shown["interventions"]} == set(by_title)
    for one in shown["interventions"]:
        for model in ("qmodel", "source"):
            line = by_title[one["title"]][model]
            assert one[model] == (line and {key: value for key, value in line.items() if key != "by_event"})


def test_effects_on_one_input_are_those_of_intervene(get, printed):
    shown = get("runs/0/intervene", input="346", units="ablate L0.Q0")["interventions"][0]
    told = printed("intervene", "346", "--ablate", "L0.Q0")["interventions"][0]
    assert shown["qmodel"]["nll_rise"] == told["qmodel"]["nll_rise"]
    assert shown["source"]["nll_rise"] == told["source"]["nll_rise"]


def test_claims_are_those_of_the_scoreboard(getter, run, capsys):
    get = getter(Explorer(open_runs([str(run)]), "", *claims_of(RESULTS)))
    assert main(["scoreboard", "--results", str(RESULTS), "--json"]) == 0
    told, shown = json.loads(capsys.readouterr().out), get("claims")
    assert [{key: row[key] for key in line} for row, line in zip(shown, told, strict=True)] == told
    drawn = next(row["claim"] for row in shown if row["drawing"])
    assert get("drawing", claim=drawn)["drawing"].startswith("data:image/svg+xml;base64,")


def test_descriptions_are_those_of_the_table_beside_the_units(getter, run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "named")
    names = [row["name"] for row in getter(Explorer(open_runs([str(run)]), ""))("runs/0/quanta")["quanta"]]
    row = {"kind": "quantum", "description": "is even", "f1": 0.7, "low": 0.6, "high": 0.8, "constant": 0.5}
    table = pl.DataFrame([row | {"unit": name, "tells": True} for name in names])
    opened = open_runs([str(folder)])
    write_table(folder / "semantics.parquet", table, made_by=opened[0].source.identity)
    shown = getter(Explorer(opened, ""))("runs/0/quanta")["quanta"][0]["description"]
    assert shown == {
        **{
            "text": "is even",
            "f1": 0.7,
            "low": 0.6,
            "high": 0.8,
            "always_true": 0.5,
            "tells": True,
            "of": "factors",
        }
    }


def test_the_accuracy_of_a_compiled_run_is_that_of_train(getter, compiled_run, capsys):
    arguments = ["--program", "roman", "--set", "training.steps=2", "trained_on=training_100", "--json"]
    assert main(["train", "compiled", "--out", str(compiled_run), *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    shown = getter(Explorer(open_runs([str(compiled_run)]), ""))("runs/0/program")
    assert {**shown["accuracy"], "knowledge": told["knowledge"]} == {k: v for k, v in told.items() if k != "run"}
    assert shown["knowledge"] == {name: value for name, value in told["knowledge"].items() if value is not None}


def test_acquisitions_of_a_forest_are_those_of_its_curves(getter, forest_run):
    shown = getter(Explorer(open_runs([str(forest_run)]), ""))("runs/0/dynamics")
    curves = read_curves(forest_run)
    assert len([one for one in shown["tasks"] if one["acquired"] is not None]) == curves.summary()["acquired"]
    assert shown["loss"][-1] == pytest.approx(curves.summary()["loss_bits"], rel=1e-5)
    assert [one["query"] for one in shown["tasks"]] == pytest.approx(curves.forest.task_probability)
    root = shown["tasks"][0]
    assert (root["parent"], shown["tasks"][1]["parent"]) == (None, root["name"])
    assert root["demand"] == pytest.approx(1.0)
