"""Odd arguments end in one line that names the argument; the whole set is in benchmarks/odd_arguments.py."""

import pytest

from quantascope.cli import main
from quantascope.runs import memory

HUGE = f"1{'0' * 30}"
SOURCE = "train addition --out new --set trained_on=training_100"
FOREST = "train hsp --out new --set training.steps=20"
REFUSED = {
    f"train addition --out new --seed {HUGE}": "seed",
    "train addition --out new --seed -1": "seed",
    "train addition --out new --threads 3000": "3000 threads",
    f"train hsp --out new --threads {HUGE}": "threads",
    "train hsp --out new --threads 0": "0 threads",
    f"train hsp --out new --seed {HUGE}": "seed",
    "train / --out new": "/",
    "train [/x] --out new": "[/x]",
    "train addition --out new --program x": "--program",
    "train addition --out source.json/x --config missing.json": "missing.json",
    f"{SOURCE} model.blocks=1000000000": "model.blocks",
    f"{SOURCE} model.width={HUGE}": "model.width",
    f"{SOURCE} model.width=1000000": "width=1000000",
    f"{SOURCE} replays=1000000000": "replays",
    f"{SOURCE} steps=NaN": "steps",
    f"{SOURCE} steps=[]": "steps",
    f"{SOURCE} optimizer.learning_rate=1e308": "learning_rate",
    f"{FOREST} batch_size=1000000000000": "batch_size=1000000000000",
    f"{FOREST} panel_inputs=1000000000000": "1000000000000 inputs",
    f"{FOREST} model.width=1000000": "width 1000000",
    f"{FOREST} family.tasks=1000000000000": "tasks=1000000000000",
    f"{FOREST} family.pool=1000000000": "family.pool",
    f"{FOREST} family.kind=regular family.depth=1000000": "depth 1000000",
    f"{FOREST} family.exponent=-1": "family.exponent",
    "simulate --depth 1000000": "depth 1000000",
    f"simulate --depth {HUGE}": "depth",
    "simulate --alpha 1e308": "alpha 1e+308",
    "simulate --alpha nan": "alpha",
    f"simulate --roots {HUGE}": "roots",
    "simulate --branching 1": "branching",
    "reproduce hsp-demand --out new --set depths=[]": "depths",
    "reproduce hsp-demand --out new --set roots=1000000000000": "roots=1000000000000",
    "reproduce hsp-demand --out new --workers 1000000000": "1000000000 workers",
    "reproduce finite-size --out new --set deepest=1000000000": "depth 1000000000",
    "reproduce flat-acquisition --out new --set learner.batch_size=1000000000000": "batch_size=1000000000000",
    "reproduce seed-stability --out new --set source.model.hidden=1000000 source.model.blocks=20": "blocks=20",
    "audit missing": "missing",
    "discover missing": "missing",
    "discover .": "neither a run nor a folder of checkpoints",
    "explain .": "neither a run nor a folder of checkpoints",
    "trace .. 1": "neither a run nor a folder of checkpoints",
    "explain [/x]": "[/x]",
    "compile :": "''",
    "x": "x",
}


@pytest.mark.parametrize(("command", "named"), REFUSED.items(), ids=lambda value: str(value)[:60])
def test_an_odd_argument_is_refused_in_one_line_that_names_it(command, named, tmp_path, monkeypatch, capsys):
    here = tmp_path / "empty" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith("quantascope: ")
    assert said.count("\n") == 1
    assert named in said
    assert not (here / "new" / "config.json").exists() or command.startswith("reproduce")


def test_a_size_that_does_not_fit_is_refused_with_the_setting_the_estimate_and_the_memory(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e9)
    assert main(f"{FOREST} model.width=10000 model.hidden_layers=3".split()) == 2
    # 64 sensors and 64 tasks; weights, gradient and two moments, and activations of 512 rows.
    parameters = 10_000 * (64 + 64 + 1) + 2 * (10_000**2 + 10_000) + 2 * 10_001
    size = 4 * (4 * parameters + 512 * (64 + 5 * 10_000))
    assert f"needs about {size / 1e9:.2f} GB of memory, and 1.00 GB are available" in capsys.readouterr().err


def test_running_out_of_memory_is_one_line(monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")

    monkeypatch.setattr("quantascope.theory.prescribed_classes", fail)
    assert main(["simulate"]) == 2
    assert capsys.readouterr().err.startswith("quantascope: out of memory; ")


def test_an_error_that_is_not_about_memory_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr("quantascope.theory.prescribed_classes", fail)
    with pytest.raises(RuntimeError, match="a defect"):
        main(["simulate"])
