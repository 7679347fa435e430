"""Exchanged checkpoints are told before they are taken for learning, as often as their quanta are looked at."""

import warnings

import pytest
import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import nn

from quantascope import ExampleTask, module_source
from quantascope.discovery.discover import discover, read_factors
from quantascope.discovery.measure import OutOfPlace
from quantascope.report.discovery import discovery_json
from quantascope.runs.artefact import read_facts
from quantascope.sources.source import Source
from quantascope.training import Trajectory
from quantascope.training.audit import audit
from quantascope.training.doubts import doubts

IMAGES = torch.tensor(load_digits().data / 16).float()[:300]
CLASSES = torch.tensor(load_digits().target)[:300]
ROWS = torch.cat([IMAGES, CLASSES[:, None].float()], 1)


def losses(model: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(rows[:, :64]), rows[:, 64].long(), reduction="none")


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))


@pytest.fixture
def series(tmp_path):
    """Twelve checkpoints of full-batch descent, as somebody's own loop saves them: without facts."""
    model, folder = network(), tmp_path / "series"
    folder.mkdir()
    optimizer = torch.optim.SGD(model.parameters(), 0.3)
    for step in range(111):
        if step % 10 == 0:
            save_file(model.state_dict(), folder / f"step-{step}.safetensors")
        optimizer.zero_grad()
        losses(model, ROWS[:200]).mean().backward()
        optimizer.step()
    return folder


@pytest.fixture
def exchanged(series):
    """The same with the files of steps 40 and 60 exchanged."""
    one, other = series / "step-40.safetensors", series / "step-60.safetensors"
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return series


def source_of(folder) -> Source:
    task = ExampleTask(
        examples={"training": ROWS[:200], "held_out": ROWS[200:]},
        classes={"training": CLASSES[:200], "held_out": CLASSES[200:]},
    )
    return module_source(network(), folder, task=task, layers={"first": "0.*", "second": "2.*"}, losses=losses)


def test_a_sound_series_is_measured_without_a_warning(series):
    assert doubts(Trajectory.open(series)) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutOfPlace)
        found = discover(source_of(series), rule="path", threshold=0.02)
    assert found.doubts is None
    assert discovery_json(found)["doubts"] is None
    assert "doubts" not in read_facts(found.save())


def test_exchanged_checkpoints_are_told_in_the_words_of_the_audit_each_time(exchanged):
    said = audit(exchanged)[0].says
    assert said.startswith("steps 40 and 60 seem to be exchanged")
    assert doubts(Trajectory.open(exchanged)) == said
    source = source_of(exchanged)
    for _ in range(2):  # measured, then read
        with pytest.warns(OutOfPlace, match=rf"steps 40 and 60 .* see quantascope audit {exchanged}") as told:
            found = discover(source, rule="path", threshold=0.02)
        assert len([one for one in told if one.category is OutOfPlace]) == 1
    assert discovery_json(found)["doubts"] == said
    found.save()
    with pytest.warns(OutOfPlace, match="steps 40 and 60"):  # what fit, trace and explain read
        read_factors(source)


def test_a_copied_member_and_one_of_another_run_are_told(series):
    (series / "step-70.safetensors").write_bytes((series / "step-20.safetensors").read_bytes())
    assert doubts(Trajectory.open(series)) == "step 70 holds the same weights as step 20"
    torch.manual_seed(9)
    other = nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))
    save_file(other.state_dict(), series / "step-70.safetensors")
    assert "step 70 is of another run" in str(doubts(Trajectory.open(series)))
