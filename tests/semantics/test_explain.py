"""From a small source, its factors and its Q-model to names."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

from quantascope.cli import main
from quantascope.discovery import assign
from quantascope.discovery.discover import read_factors
from quantascope.discovery.measure import measure_field
from quantascope.qmodel.recovered.fidelity import activity
from quantascope.report.explanation import explanation_markdown
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.semantics import subjects
from quantascope.semantics.explain import Explanation, explain
from quantascope.semantics.subjects import (
    QUANTUM,
    WRITER,
    factor_subject,
    find_subject,
    qmodel_subject,
    subject_of,
)
from quantascope.semantics.tables import property_table
from quantascope.sources.trained import read_source

PANELS = {"calibration": "priority", "test": "causal"}
PROGRAM = """
from quantascope.program import Registry, when
from quantascope.tasks.number_naming import POSITIONS, VOCABULARY, number_name
from quantascope.tasks.number_naming.oracle import LARGEST
from quantascope.tasks.sequence import SequenceTask

registry = Registry()
stage = registry.quantum("STAGE", output_cardinality=2)(
    lambda number, position: "end" if position == len(number_name(number)) - LEFT_OUT else "name"
)
word = registry.quantum("WORD", output_cardinality=29)(lambda number, position: number_name(number)[position])
end = registry.quantum("END", output_cardinality=1)(lambda: "EOS")


@registry.entry(audit=range(21, 120), vocabulary=VOCABULARY[15:] + ("EOS",), end="EOS")
def predict(state):
    now = stage(state.source, state.position)
    with when(now, "end") as over:
        if over:
            return end()
    with when(now, "name") as going:
        if going:
            return word(state.source, state.position)


task = SequenceTask(
    vocabulary=VOCABULARY,
    positions=POSITIONS,
    prompt=str,
    answer=predict.write,
    panels={
        "training": lambda: tuple(range(21, 100, 3)),
        "development": lambda: tuple(range(22, 100, 3)),
        "evaluation": lambda: tuple(range(23, 100, 3)),
    },
)
"""


@pytest.fixture(scope="module")
def source(tiny_source):
    return tiny_source


@pytest.fixture(scope="module")
def fitted(tiny_fit):
    return tiny_fit


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program that writes names, or names without so many of their last words."""

    def written(left_out: int = 0) -> str:
        file = tmp_path_factory.mktemp("program") / "naming.py"
        file.write_text(PROGRAM.replace("LEFT_OUT", str(left_out)))
        return f"{file}:predict"

    return written


@pytest.fixture(scope="module")
def explained(fitted) -> Explanation:
    return explain(qmodel_subject(fitted), **PANELS, permutations=2)


def test_supports_of_factors_are_those_that_frozen_curves_assign(source):
    factors, facts = read_factors(source)
    subject = factor_subject(source, factors, facts["rule"])
    units = subject.units("causal")[QUANTUM]
    expected = assign(factors, measure_field(source, "path", "causal").values).supports
    np.testing.assert_array_equal(units.active, expected)
    assert list(units.names) == factors.names
    assert subject.properties("causal").events == units.active.shape[1]


def test_gates_are_judged_everywhere_and_writers_where_their_owner_is_active(fitted):
    units = qmodel_subject(fitted).units("causal")
    seen = activity(fitted.model, fitted.source.events("causal"))
    np.testing.assert_array_equal(units[QUANTUM].active, seen.gates)
    assert units[QUANTUM].judged.all()
    for place, name in enumerate(units[WRITER].names):
        owner = units[QUANTUM].names.index(name.rpartition(".")[0])
        np.testing.assert_array_equal(units[WRITER].judged[place], seen.gates[owner])


def test_the_table_holds_every_unit_the_best_told_first(explained, fitted):
    table = explained.table()
    assert sorted(table["unit"]) == sorted([*fitted.model.names, *sum(fitted.model.writer_names, ())])
    named = table.filter(pl.col("f1").is_not_null())
    assert named["f1"].is_sorted(descending=True)
    assert table["f1"].is_null().to_list() == sorted(table["f1"].is_null())
    assert table.filter(pl.col("f1").is_null())["description"].str.starts_with("constant").all()
    np.testing.assert_allclose(named["gain"], named["f1"] - named["constant"])
    assert ((named["low"] <= named["f1"]) & (named["f1"] <= named["high"])).all()
    zeros = explained.detector_table()
    assert zeros["says"].to_list()[:2] == ["zero at units", "zero at tens"]
    assert set(zeros["kind"]) == {QUANTUM, WRITER}


def test_the_same_table_stands_in_parquet_markdown_and_the_trace(explained, fitted):
    explained.save()
    assert fitted.descriptions == dict(explained.table().select("unit", "description").iter_rows())
    text = explanation_markdown(explained)
    assert "chosen on priority, frozen, scored on causal" in text
    rows = [line for line in text.splitlines() if line.startswith("| L")]
    assert len(rows) == explained.table().height
    best = explained.table().row(0, named=True)
    assert f"| {best['unit']} | {best['description']} | {best['f1']:.3f} |" in text


def test_a_program_of_the_task_lends_its_words(source, program):
    table, ours = property_table(source, "priority", program()), property_table(source, "priority", "task")
    np.testing.assert_array_equal(table.atom("STAGE=end"), ours.atom("emit EOS"))
    with pytest.raises(InvalidConfig, match="writes other outputs than the source was trained on"):
        property_table(source, "priority", program(left_out=1))


def test_panels_that_share_inputs_are_refused(source):
    with pytest.raises(InvalidConfig, match="panels test and causal share 512 inputs"):
        explain(subject_of(source, units="factors"), calibration="test", test="causal")
    with pytest.raises(InvalidConfig, match="there is no panel 'holdout'"):
        explain(subject_of(source, units="factors"), calibration="holdout")


def test_what_is_explained_is_the_q_model_if_there_is_one(fitted, source, tmp_path):
    assert subject_of(source).title.startswith("faithful Q-model")
    assert subject_of(source, units="factors").title.startswith("factors")
    with pytest.raises(InvalidConfig, match="factors have no preset"):
        subject_of(source, units="factors", preset="faithful")
    kept = shutil.ignore_patterns("qmodel", "factors.safetensors")
    bare = read_source(shutil.copytree(source.folder, tmp_path / "bare", ignore=kept))
    with pytest.raises(DamagedArtefact, match="has no factors; find them with quantascope discover"):
        subject_of(bare)
    with pytest.raises(DamagedArtefact, match="has no faithful Q-model; make it with quantascope fit"):
        subject_of(bare, units="qmodel")
    with pytest.raises(DamagedArtefact, match="has no distilled Q-model"):
        subject_of(bare, preset="distilled")


def test_factors_of_a_field_that_fails_are_named_with_a_warning(source, monkeypatch):
    factors, facts = read_factors(source)
    assert facts["reliable"]
    assert subject_of(source, units="factors").warning is None
    monkeypatch.setattr(subjects, "read_factors", lambda source: (factors, facts | {"reliable": False}))
    assert "not quanta" in subject_of(source, units="factors").warning


def test_a_run_without_any_factor_is_refused(source):
    factors, facts = read_factors(source)
    with pytest.raises(InvalidConfig, match="has no factors to name; lower the threshold"):
        factor_subject(source, factors.chosen(np.array([], dtype=np.int64)), facts["rule"])


@pytest.mark.usefixtures("threaded")
def test_gates_of_a_compiled_q_model_are_named_by_its_program(program, tmp_path, capsys):
    """What the gates were taught comes back as their names."""
    short = ["training.steps=150", "training.schedule.decay_from=75", "model.width=16"]
    run = str(tmp_path / "run")
    assert main(["train", "compiled", "--program", program(), "--out", run, "--set", *short]) == 0
    capsys.readouterr()
    command = ["explain", run, "--workers", "1", "--permutations", "2", "--json"]
    assert main([*command, "--program", program()]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["calibration"], told["test"], told["detectors"]) == ("development", "evaluation", [])
    names = {row["unit"]: row for row in told["names"]}
    assert names["STAGE"]["description"] == "constant: always active"
    assert names["END"]["description"] in ("STAGE=end", "END")
    assert names["WORD"]["f1"] > 0.95
    assert names["WORD"]["tells"]
    with pytest.raises(InvalidConfig, match="is described by its program"):
        find_subject(run, units="factors")


@pytest.mark.usefixtures("threaded")
def test_the_command_prints_and_keeps_the_names(fitted, capsys):
    run = fitted.source.folder
    arguments = ["explain", str(run), "--calibration", "priority", "--test", "causal", "--permutations", "2"]
    assert main([*arguments, "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Quanta: faithful Q-model of" in shown
    assert "Properties, and the single writer that detects each best" in shown
    assert (run / "qmodel" / "faithful" / "semantics.md").read_text().startswith("# Units in words")
    assert main([*arguments, "--workers", "1", "--units", "factors", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["test"] == "causal"
    assert {row["kind"] for row in told["names"]} == {"quantum"}
    kept = pl.read_parquet(run / "semantics.parquet")
    assert kept["unit"].to_list() == [row["unit"] for row in told["names"]]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["explain", "nowhere"], "there is no folder nowhere; give a run folder"),
        (["explain", "nowhere", "--units", "neurons"], "invalid choice 'neurons'"),
    ],
)
def test_mistakes_are_answered_in_one_line(arguments, complaint, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
