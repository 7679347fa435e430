"""From a small source to its quanta, and back from the run directory."""

import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from quantascope.acquisition.learner import HSPLearner
from quantascope.claims import ordering as acquisition_order
from quantascope.claims import recover_quanta, seed_stability
from quantascope.claims.recover_quanta import RecoverQuanta
from quantascope.discovery import Factors, explained_share, factorize
from quantascope.discovery.audit import audit_run, first_order_field
from quantascope.discovery.discover import discover, event_map, layer_sums, read_factors, typical_words
from quantascope.discovery.measure import measure_field
from quantascope.discovery.nulls.beside import explained_by_svd, explained_in_training, packets, surrogates
from quantascope.report.discovery import discovery_json, print_discovery
from quantascope.runs.artefact import read_facts, write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.open import open_source
from quantascope.sources.trained import (
    SourceConfig,
    accuracy_table,
    read_source,
    source_config,
    source_summary,
    train_source,
)


@pytest.fixture
def source(tiny_source):
    return tiny_source


@pytest.fixture(scope="module")
def found(tiny_source):
    return discover(tiny_source, rule="path", threshold=0.02)


def test_what_was_found_is_shown_in_a_line(found, source):
    assert repr(found) == f"Discovery({len(found.factors)} quanta of {source.folder} at 0.02, reliable path field)"


def test_checkpoints_are_kept_where_priority_is_measured_and_where_a_q_model_replays(source):
    assert source.steps == [0, 4, 8, 12, 16, 20, 24]
    assert source.replay_steps == (1, 12, 24)
    assert source.checkpoints.steps.tolist() == [0, 1, 4, 8, 12, 16, 20, 24]


def test_the_papers_source_keeps_the_stated_checkpoints():
    paper = SourceConfig()
    assert paper.interval_steps == [*range(0, 5001, 125)]
    assert len(paper.replay_steps) == 200
    assert paper.replay_steps[:3] == [1, 26, 51]


def test_every_step_has_its_loss(source):
    assert len(source.step_loss) == 24
    assert source.step_loss[0] > source.step_loss[-1]
    assert source.rising_share == 0
    assert source_summary(source) == {"steps": 24, "train_loss": source.step_loss[-1], "rising_share": 0}


def test_a_source_is_read_from_its_folder(source, tiny_config):
    again = read_source(source.folder)
    assert source_config(again) == tiny_config
    assert again.identity == source.identity == tiny_config.hash()
    np.testing.assert_array_equal(again.step_loss, source.step_loss)


def test_folders_that_are_no_source_say_what_they_are(tmp_path, tiny_config):
    with pytest.raises(DamagedArtefact, match=r"has no config\.json, so it is not a run; make one with"):
        read_source(tmp_path)
    with pytest.raises(DamagedArtefact, match="is neither a run nor a folder of checkpoints; make a run with"):
        open_source(tmp_path)
    with pytest.raises(DamagedArtefact, match=r"there is no folder .*elsewhere; give a run folder"):
        open_source(tmp_path / "elsewhere")
    save_file({"weight": torch.zeros(1)}, tmp_path / "model-10.safetensors")
    with pytest.raises(InvalidConfig, match="holds checkpoints; give their training data with --data FILE"):
        open_source(tmp_path)
    RunDirectory.open(tmp_path / "other", HSPLearner())
    with pytest.raises(RunMismatch, match="is a run of 'forest', not of 'source'; make one with"):
        read_source(tmp_path / "other")
    with pytest.raises(
        RunMismatch, match="is a run of 'forest', which is not a source; make one with quantascope"
    ):
        open_source(tmp_path / "other")
    RunDirectory.open(tmp_path / "begun", tiny_config)
    for opened in (read_source, audit_run):
        with pytest.raises(DamagedArtefact, match="is not finished; quantascope train number-naming"):
            opened(tmp_path / "begun")


def test_the_table_of_accuracies_adds_up_over_lengths(source):
    table = accuracy_table(source)
    whole = table.filter(length="all")
    assert whole["panel"].to_list() == ["training", "test", "zero_gap", "short_tail"]
    assert whole["inputs"].to_list()[::2] == [300, 4031]
    for panel, *figures in whole.drop("length").iter_rows():
        parts = table.filter(panel=panel).filter(table.filter(panel=panel)["length"] != "all")
        assert parts["inputs"].sum() == figures[0]
        exact = (parts["exact"] * parts["inputs"]).sum() / parts["inputs"].sum()
        assert exact == pytest.approx(figures[2])


def test_factors_account_for_the_field_and_are_named_by_layer(found):
    assert len(found.names) == len(set(found.names)) == len(found.factors) > 0
    assert found.names[0] == "L0.Q0"
    assert found.per_layer.sum() == len(found.factors)
    assert (found.factors.explained >= 0.02).all()
    assert found.trained.completeness == pytest.approx(1, abs=0.02)
    assert found.trained.reliable
    assert (found.explained > 0).all()
    assert (found.explained <= explained_by_svd(found) + 1e-9).all()
    assert found.held_out_loss.shape == (7,)
    assert ((found.complexity >= 1) & (found.complexity <= 17)).all()
    assert set(found.acquired.tolist()) <= {4, 8, 12, 16, 20, 24}
    json.dumps(discovery_json(found))


def test_the_event_map_is_a_share_of_each_words_events():
    supports = np.array([[True, True, False, False], [False, False, False, True]])
    labels = ["one", "one", "two", "two"]
    np.testing.assert_array_equal(event_map(supports, labels, ["one", "two"]), [[1, 0], [0, 0.5]])


def test_typical_words_are_those_with_a_larger_share_inside_than_outside():
    labels = ["six", "six", "and", "six", "and", "ten"]
    inside = np.array([True, True, True, False, False, False])
    assert typical_words(labels, inside) == ["six"]
    assert typical_words(labels, ~inside) == ["ten"]
    assert typical_words(labels, np.zeros(6, dtype=bool)) == []


def test_fields_are_measured_once_and_kept(source, found, monkeypatch):
    monkeypatch.setattr("quantascope.discovery.measure.priority_field", None)
    left_by_a_kill = source.folder / "priority" / "path-training.parts" / "interval-00000.safetensors"
    left_by_a_kill.parent.mkdir()
    left_by_a_kill.touch()
    again = measure_field(source, "path", "training")
    np.testing.assert_array_equal(again.values, found.trained.values)
    assert not list((source.folder / "priority").glob("*.parts"))


def test_a_field_of_checkpoints_that_have_changed_since_is_refused(source, found, tmp_path):
    path = shutil.copytree(source.folder, tmp_path / "run")
    changed = {name: 1.01 * value for name, value in source.trajectory.at([12]).load(0).items()}
    replace_checkpoint(path, 12, changed)
    with pytest.raises(RunMismatch, match="measured from another checkpoint of step 12; restore that, or move"):
        measure_field(read_source(path), "path", "training")


def test_a_layer_with_as_many_factors_as_are_looked_for_is_named(source, found, capsys):
    assert found.full_layers == []
    many = discover(source, rule="path", threshold=1e-7)
    assert many.full_layers == ["block 0", "block 1"]
    assert [layer["full"] for layer in discovery_json(many)["layers"]] == [True, True]
    print_discovery(many)
    assert "+ block 0, block 1: 16 factors is the limit per layer" in capsys.readouterr().out


def test_factors_of_a_field_that_accounts_for_nothing_are_warned_of(found):
    wrong = replace(found.trained, values=found.trained.values[:, ::-1])
    with pytest.warns(UserWarning, match=r"correlation -?0\.\d+ by event: factors of this field are not quanta"):
        factorize(wrong)


def test_a_threshold_that_nothing_reaches_is_refused_with_the_largest_share(source, found):
    with pytest.raises(InvalidConfig, match=r"no factor explains 0\.99 of its layer; the largest share is 0\.\d+"):
        discover(source, rule="path", threshold=0.99)


def test_factors_are_kept_with_what_made_them(source, found, tmp_path):
    file = found.save()
    loaded = Factors.load(file, made_by=source.identity)
    np.testing.assert_array_equal(loaded.supports, found.factors.supports)
    factors, about = read_factors(source)
    np.testing.assert_array_equal(factors.curves, found.factors.curves)
    assert (about["rule"], about["threshold"], about["layers"]) == ("path", 0.02, ["block 0", "block 1"])
    with pytest.raises(DamagedArtefact, match="has no factors; find them with quantascope discover"):
        read_factors(replace(source, folder=tmp_path))


def test_a_panel_that_was_trained_on_is_not_held_out(source):
    with pytest.raises(InvalidConfig, match="the panel 'training' is not held out; name another, such as"):
        discover(source, panel="training")


def test_an_unknown_panel_is_refused(source):
    with pytest.raises(InvalidConfig, match="there is no panel 'holdout'; there are training, balanced"):
        measure_field(source, "path", "holdout")


def training_loss(source, step):
    events, model = source.events(), source.model(step).requires_grad_(True)
    return model, torch.nn.functional.cross_entropy(model(events), events.target)


def squared_gradients(source) -> float:
    """To first order, descent lowers the loss by rate times squared gradient, summed over the updates."""
    rates, found = np.diff(source.trajectory.mass), 0.0
    for step, rate in zip(source.steps, rates, strict=False):
        model, loss = training_loss(source, step)
        found += rate * sum(float(g.square().sum()) for g in torch.autograd.grad(loss, [*model.parameters()]))
    return found


def loss_fall(source) -> float:
    first, last = (training_loss(source, source.steps[end])[1].item() for end in (0, -1))
    return first - last


def test_an_audit_of_a_sound_source_finds_nothing_and_reports_how_smooth_it_was(source):
    report = audit_run(source.folder, source)
    assert report.findings == []
    assert report.rising_share == 0
    assert report.first_order_account == pytest.approx(squared_gradients(source) / loss_fall(source), rel=1e-4)
    assert report.event_correlation > 0.9
    assert "8 checkpoints, nothing wrong" in report.text()
    json.dumps(report.to_json())


def test_an_audit_misses_a_checkpoint_and_sees_the_edge_of_stability(tmp_path, tiny_config):
    wild = tiny_config.replace({"optimizer.name": "adam", "optimizer.learning_rate": 0.3})
    source = train_source(wild, tmp_path / "wild")
    kinds = {finding.kind for finding in audit_run(source.folder, source).findings}
    assert kinds & {"rising loss", "first order", "jump"}
    (source.folder / "checkpoints" / "step-00000012.safetensors").unlink()
    # The series does not open any more, and is audited all the same.
    for asked in (None, partial(read_source, source.folder)):
        findings = audit_run(source.folder, asked).findings
        assert [one.says for one in findings if one.kind == "missing step"] == ["step 12 is missing"]


def test_an_audit_looks_at_the_first_order_account_event_by_event(source, monkeypatch):
    true = first_order_field(source)
    wrong = replace(true, values=true.values[:, ::-1])
    monkeypatch.setattr("quantascope.discovery.audit.first_order_field", lambda source: wrong)
    report = audit_run(source.folder, source)
    assert report.first_order_account == pytest.approx(true.completeness)
    (finding,) = report.findings
    assert finding.kind == "first order"
    assert f"correlation {report.event_correlation:.2f} by event; the gradient rule does not" in finding.says


def replace_checkpoint(path, step, tensors):
    """Put other tensors into a checkpoint that goes on saying the same of itself."""
    file = path / "checkpoints" / f"step-{step:08d}.safetensors"
    facts = read_facts(file)
    write_tensors(file, tensors, made_by=facts["config"], step=step, mass=facts["mass"])


def test_an_audit_sees_checkpoints_in_line_with_the_others_by_their_loss_even_the_first(source, tmp_path):
    path = shutil.copytree(source.folder, tmp_path / "run")
    first, second, before, after = (source.trajectory.at([step]).load(0) for step in (0, 4, 8, 16))
    replace_checkpoint(path, 0, {name: 1.1 * first[name] - 0.1 * second[name] for name in first})
    replace_checkpoint(path, 12, {name: 0.7 * before[name] + 0.3 * after[name] for name in before})
    found = audit_run(path, read_source(path)).findings
    assert [(finding.kind, finding.step) for finding in found] == [("other loss", 0), ("other loss", 12)]
    assert found[0].says.startswith("the checkpoint of step 0 has loss ")
    assert found[0].says.endswith(f"; training recorded {source.step_loss[0]:.4g}")


def test_an_audit_sees_a_first_checkpoint_of_another_seed(source, tmp_path, tiny_config):
    path = shutil.copytree(source.folder, tmp_path / "run")
    replace_checkpoint(path, 0, tiny_config.replace({"seed": 1}).build(source.task).state_dict())
    assert [(one.kind, one.step) for one in audit_run(path).findings] == [("other run", 0)]


def test_the_claims_measure_tiny_sources(tmp_path, tiny_config):
    tiny = tiny_config.replace({"steps": 6, "intervals": 3})
    config = RecoverQuanta(
        source=tiny,
        seeds=(0, 1),
        unstable=tiny.replace({"replays": 0}),
        unstable_seeds=(2,),
        draws=1,
    )
    evidence = {
        label: recover_quanta.measured_source(run, tmp_path / label)
        for label, run in recover_quanta.runs(config).items()
    }
    figures = recover_quanta.measure(config, evidence)
    assert figures["completeness_path"].mean == pytest.approx(1, abs=0.02)
    assert figures["factors"].mean == sum(figures[f"factors_layer_{layer}"].mean for layer in (0, 1))
    for what in ("corrective_factors", "corrective_explained"):
        own, null, beyond = (
            figures[f"{what}{key}_path"].values for key in ("", "_surrogate_loadings", "_beyond_loadings")
        )
        np.testing.assert_allclose(np.subtract(own, null), beyond)
    sources = {label: evidence[label] for label in ("seed-0", "seed-1")}
    order = acquisition_order.measure(
        acquisition_order.AcquisitionOrder(source=tiny, seeds=(0, 1), draws=1), sources
    )
    assert order["factors_1_percent"].mean >= order["factors_5_percent"].mean
    stability = seed_stability.measure(
        seed_stability.SeedStability(source=tiny, seeds=(0, 1), permutations=5), sources
    )
    assert 0 <= stability["recurring_path"].mean <= 100
    with pytest.raises(InvalidConfig, match="at least two seeds, got 1"):
        seed_stability.measure(seed_stability.SeedStability(seeds=(0,)), {"seed-0": sources["seed-0"]})


def test_a_checkpoint_of_another_shape_stops_the_discovery(source, tmp_path):
    path = shutil.copytree(source.folder, tmp_path / "run")
    shutil.rmtree(path / "priority")
    file = path / "checkpoints" / "step-00000008.safetensors"
    tensors = load_file(file)
    tensors["head.bias"] = tensors["head.bias"][:-1].clone()
    write_tensors(file, tensors, made_by=source.identity, step=8, mass=0.8)
    with pytest.raises(DamagedArtefact, match=r"tensor 'head\.bias' is F32 \[43\], at the first step F32 \[44\]"):
        discover(read_source(path))


def test_nulls_stand_beside_the_figures_and_are_the_same_at_every_call(found):
    for of, size in (("sets", found.factors.supports.sum(1)), ("events", 1)):
        first, again = packets(found, of, 2), packets(found, of, 2)
        assert (first[0].supports.sum(1) == size).all()
        np.testing.assert_array_equal(first[1].curves, again[1].curves)
        assert -1 <= found.improvement_correlation_of(first[0]) <= 1
        assert (found.complexity_of(first[0]) >= 1).all()
    for kind in ("loadings", "gaussian"):
        first, again = surrogates(found, kind, 2), surrogates(found, kind, 2)
        np.testing.assert_array_equal(first[1], again[1])
        assert (layer_sums(factorize(first[0]), 2) <= 1).all()
    np.testing.assert_allclose(
        explained_in_training(found), explained_share(found.factors, found.trained.values), rtol=1e-4
    )
