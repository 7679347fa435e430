"""Every pipeline on a second device, simulated (see conftest), gives the numbers of the CPU bit for bit."""

import pickle
from dataclasses import replace

import polars as pl
import pytest
import safetensors.torch
import torch

from quantascope.acquisition.learner import CohortLearner, HSPLearner, learn
from quantascope.discovery.audit import audit_run
from quantascope.discovery.discover import discover
from quantascope.discovery.priority import prepare
from quantascope.guidance.guide import GuidedLearner, learn_guided
from quantascope.models import MLPConfig, TransformerConfig
from quantascope.models.device import device_of
from quantascope.qmodel import CompiledConfig
from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled
from quantascope.qmodel.recovered.fidelity import summary, through_time
from quantascope.qmodel.recovered.fit import fit_config, fit_run
from quantascope.qmodel.recovered.intervene import intervene
from quantascope.qmodel.recovered.source_effects import KINDS, compare
from quantascope.qmodel.recovered.trace import trace
from quantascope.runs.errors import InvalidConfig
from quantascope.semantics.subjects import compiled_subject, subject_of
from quantascope.sources.trained import SourceConfig, accuracy_table, train_source
from quantascope.tasks.hsp import FlatFamily, RegularFamily
from quantascope.training import OptimizerConfig, Pace, TrainingConfig

TASK = """
import itertools
import random

from quantascope import SequenceTask

WORDS = ["".join(word) for word in itertools.product("abc", repeat=3)]
random.Random(0).shuffle(WORDS)
PANELS = {"training": WORDS[:14], "held_out": WORDS[14:18], "calibration": WORDS[18:22], "test": WORDS[22:]}

task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *"abc"),
    positions=10,
    prompt=tuple,
    answer=lambda word: (*reversed(word), "EOS"),
    panels={name: lambda words=words: words for name, words in PANELS.items()},
    reported=("test",),
    pool=lambda count, seed: WORDS[22:],
)
"""
THERE = torch.device("meta")


def kept(folder):
    """The tensors and tables in a folder, by the names of their files."""
    found = {}
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if file.suffix == ".safetensors":
            found[name] = {key: one.numpy().tobytes() for key, one in safetensors.torch.load_file(file).items()}
        elif file.suffix == ".parquet":
            found[name] = pl.read_parquet(file).fill_nan(None).to_dict(as_series=False)
    return found


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A source of a tiny task."""
    file = tmp_path_factory.mktemp("task") / "reverse.py"
    file.write_text(TASK)
    return SourceConfig(
        task=f"{file}:task",
        model=TransformerConfig(blocks=2, width=8, hidden=8, heads=2),
        steps=12,
        optimizer=OptimizerConfig(name="adam", learning_rate=0.01),
        intervals=3,
        replays=2,
    )


@pytest.fixture(scope="module")
def sources(config, tmp_path_factory, second_device):
    """That source, trained and measured on the CPU, and on the second device."""
    folder = tmp_path_factory.mktemp("sources")
    here = train_source(config, folder / "here")
    discover(here, threshold=0.01).save()
    with second_device() as device:
        there = train_source(config, folder / "there", device=device)
        discover(there, threshold=0.01).save()
    return here, there


def test_a_source_is_trained_measured_and_audited(sources, second_device):
    here, there = sources
    assert kept(there.folder) == kept(here.folder)
    with second_device():
        assert device_of(there.model()) == THERE
        assert accuracy_table(there).equals(accuracy_table(here), null_equal=True)
        found = [audit_run(one.folder, one).to_json() for one in sources]
    assert found[0] == {**found[1], "path": str(here.folder)}


def test_a_qmodel_is_fitted_traced_intervened_on_and_explained(sources, second_device):
    small = {"updates": 3, "parts": 2}
    presets = {"faithful": small, "distilled": {**small, "pool.inputs": 3}}
    with second_device():
        for preset, changes in presets.items():
            one, other = (fit_run(source, fit_config(source, preset, changes)) for source in sources)
            assert device_of(other.model) == THERE
            assert kept(one.path) == kept(other.path)
            unit, writer = one.model.names[0], one.model.writer_names[-1][0]
            asked = ["delete-all", "replace-all", f"ablate {unit}", f"force {unit}", f"ablate {writer}"]
            assert summary(one) == {**summary(other), "qmodel": str(one.path)}
            assert through_time(one).equals(through_time(other), null_equal=True)
            assert trace(one, "aab") == trace(other, "aab")
            assert intervene(one, asked).to_json() == intervene(other, asked).to_json()
            both = [compare(run.model, run.source.model(), run.source.events("test")) for run in (one, other)]
            assert all((both[0].found[kind] == both[1].found[kind]).all() for kind in KINDS)
            active = [subject_of(run.source, preset=preset).units("test") for run in (one, other)]
            assert all((active[0][kind].active == active[1][kind].active).all() for kind in active[0])


@pytest.mark.parametrize("rule", ["path", "gradient"])
@pytest.mark.parametrize("derivatives", ["backward", "differences"])
def test_a_worker_gets_weights_and_data_on_the_cpu_and_measures_on_the_device(
    sources, second_device, rule, derivatives
):
    with second_device():
        here, there = (
            prepare(
                one.trajectory, one.losses, one.layers, train=one.examples(), rule=rule, derivatives=derivatives,
                device=one.device,
            )
            for one in sources
        )  # fmt: skip
        packed = pickle.dumps(there)
        assert b"There" not in packed
        received = pickle.loads(packed)
        assert received.tensors(0)["head.weight"].device == THERE
        measured = [{name: one.tolist() for name, one in each(1).items()} for each in (here, received)]
    assert measured[0] == measured[1]


def test_a_run_goes_on_on_another_device(sources, config, second_device, tmp_path):
    def stop(step, loss, acquired=None):
        if step == 5:
            raise KeyboardInterrupt

    with second_device() as device, pytest.raises(KeyboardInterrupt):
        train_source(config, tmp_path, stop, Pace(save=0.0, report=0.0), device=device)
    train_source(config, tmp_path)
    whole = kept(sources[0].folder)
    assert kept(tmp_path) == {name: whole[name] for name in kept(tmp_path)}


def test_a_model_that_is_no_module_is_refused(sources):
    fixed = replace(sources[0], device=THERE, model_at=lambda step: lambda events: events.target)
    with pytest.raises(InvalidConfig, match=r"is not an nn\.Module, so it stays on the CPU; use --device cpu"):
        fixed.model()


FLAT = HSPLearner(
    family=FlatFamily(), model=MLPConfig(width=8), training=TrainingConfig(steps=6, evaluate_every=3),
    batch_size=32,
)  # fmt: skip
COHORT = CohortLearner(
    family=RegularFamily(depth=2), widths=(8, 16), hidden_layers=2, batch_size=32, panel_inputs=32,
    training=TrainingConfig(steps=6, evaluate_every=3),
)  # fmt: skip


@pytest.mark.parametrize("config", [FLAT, COHORT], ids=["one network", "a cohort"])
def test_a_forest_is_learned(config, tmp_path, second_device):
    learn(config, tmp_path / "here")
    with second_device() as device:
        learn(config, tmp_path / "there", device=device)
    assert kept(tmp_path / "there") == kept(tmp_path / "here")


def test_a_program_is_learned_and_guides_a_network_both_under_noise(tmp_path, second_device):
    short = TrainingConfig(steps=3, evaluate_every=3)
    learner = CompiledLearner(program="clock", model=CompiledConfig(width=8), training=short)
    config = GuidedLearner(
        teacher=learner, model=TransformerConfig(blocks=12, width=12, hidden=8), training=short, control="word"
    )

    def learned(folder, device):
        teacher = learn_compiled(learner, folder / "teacher", device=device)
        done = learn_guided(config, folder / "student", teacher, device=device)
        gates = compiled_subject(teacher, folder / "teacher").units("training")["quantum"].active
        return teacher.accuracy, done.accuracy, device_of(done.model), gates.tolist()

    here = learned(tmp_path / "here", "cpu")
    with second_device() as device:
        there = learned(tmp_path / "there", device)
    assert there == (*here[:2], THERE, here[3])
    assert kept(tmp_path / "there") == kept(tmp_path / "here")
