"""From a small source, its factors and its Q-model to names."""

import json

import numpy as np
import polars as pl
import pytest

from quantascope.cli import main
from quantascope.errors import DamagedArtefact, InvalidConfig
from quantascope.experiments.compiled_learner import CompiledLearner, CompiledRun, learn_compiled, lesson
from quantascope.experiments.discovery import discover, measure_field
from quantascope.experiments.explanation import (
    QUANTUM,
    WRITER,
    Explanation,
    compiled_subject,
    explain,
    factor_subject,
    naming_table,
    qmodel_subject,
    subject_of,
)
from quantascope.experiments.fidelity import activity, panel_events
from quantascope.experiments.naming_source import NamingSource, learn_naming, panel_numbers
from quantascope.experiments.recovered_learner import fit_config, fit_run, read_factors
from quantascope.models import TransformerConfig
from quantascope.priority import assign
from quantascope.report.explanation import explanation_markdown
from quantascope.training import OptimizerConfig

TINY = NamingSource(
    model=TransformerConfig(blocks=2, width=8, hidden=16),
    steps=24,
    optimizer=OptimizerConfig(name="sgd", learning_rate=0.1),
    intervals=3,
    replays=3,
)
PANELS = {"calibration": "priority", "test": "causal"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    made = learn_naming(TINY, tmp_path_factory.mktemp("explained") / "tiny")
    discover(made, threshold=0.02).save()
    return made


@pytest.fixture(scope="module")
def fitted(source):
    return fit_run(source, fit_config(source, "faithful", {"updates": 12, "parts": 4}))


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
    seen = activity(fitted.model, panel_events(TINY, "causal"))
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
    zeros = explained.zero_table()
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


def test_a_program_of_the_task_lends_its_words(source):
    table = naming_table("english", panel_numbers(TINY, "priority"))
    assert {"CONTROL_GROUP=HIGH", "LEXICAL_FORM=TEEN", "EMIT_EOS"} <= set(table.names)
    with pytest.raises(InvalidConfig, match="the program french writes other outputs than the source"):
        naming_table("french", panel_numbers(TINY, "priority"))


def test_panels_that_share_inputs_are_refused(source):
    with pytest.raises(InvalidConfig, match="panels test and causal share 512 inputs"):
        explain(subject_of(source.path, units="factors"), calibration="test", test="causal")
    with pytest.raises(InvalidConfig, match="there is no panel 'holdout'"):
        explain(subject_of(source.path, units="factors"), calibration="holdout")


def test_what_is_explained_is_the_q_model_if_there_is_one(fitted, source, tmp_path):
    assert subject_of(source.path).says.startswith("faithful Q-model")
    assert subject_of(source.path, units="factors").says.startswith("factors")
    bare = learn_naming(TINY, tmp_path / "bare")
    with pytest.raises(DamagedArtefact, match="has no factors; find them with quantascope discover"):
        subject_of(bare.path)
    with pytest.raises(DamagedArtefact, match="has no faithful Q-model; make it with quantascope fit"):
        subject_of(bare.path, units="qmodel")


def test_factors_of_a_field_that_fails_are_named_with_a_warning(tmp_path):
    wild = TINY.model_copy(update={"optimizer": OptimizerConfig(name="adam", learning_rate=0.3)})
    made = learn_naming(wild, tmp_path / "wild")
    found = discover(made, rule="gradient", threshold=0.02)
    found.save()
    subject = subject_of(made.path)
    assert (subject.warning is None) == found.trained.reliable
    assert not found.trained.reliable


def test_gates_of_a_compiled_q_model_are_named_by_its_program(tmp_path):
    """A model that follows the program's routing is described by the program, in another task."""
    config = CompiledLearner(program="addition").replace({"training.steps": 2, "training.evaluate_every": 2})
    run = learn_compiled(config, tmp_path / "run")
    subject = compiled_subject(CompiledRun(run.config, run.model, run.accuracy), tmp_path / "run")
    assert subject.panels == ("development", "evaluation")
    units = subject.units("development")[QUANTUM]
    assert units.names == tuple(lesson("addition").compiled.graph.names)
    assert subject.properties("development").events == units.active.shape[1]
    assert subject.zeros is None
    with pytest.raises(InvalidConfig, match="speaks its program's words"):
        subject_of(tmp_path / "run", units="factors")


def test_the_command_prints_and_keeps_the_names(fitted, capsys):
    run = fitted.source.path
    arguments = ["explain", str(run), "--calibration", "priority", "--test", "causal", "--permutations", "2"]
    assert main([*arguments, "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Quanta: faithful Q-model of" in shown
    assert "Zeros, told by a single writer" in shown
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
        (["explain", "nowhere"], "nowhere is not a run; make one with quantascope train number-naming"),
        (["explain", "nowhere", "--units", "neurons"], "invalid choice 'neurons'"),
    ],
)
def test_mistakes_are_answered_in_one_line(arguments, complaint, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
