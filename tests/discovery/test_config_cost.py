"""The cost of a model that is known by its config.json, against the same model with weights."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from quantascope.cli import main
from quantascope.discovery import priority_field
from quantascope.discovery.config_cost import WindowCost, measured_rate
from quantascope.discovery.linearized import Linearized
from quantascope.discovery.memory import Footprint, PeakMemory
from quantascope.discovery.priority import prepare
from quantascope.discovery.quadrature import COUNTS
from quantascope.models.hugging_face import causal_lm_losses, layers_of, read_weights
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import ModuleLosses
from quantascope.training import Trajectory

transformers = pytest.importorskip("transformers")
SHAPE = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 5, "num_attention_heads": 2}
SHAPE |= {"intermediate_size": 32, "max_position_embeddings": 16, "model_type": "gpt_neox"}
LENGTH = 9


def derivatives(rows: int):
    """The derivatives of one point, of a model with weights, by the losses of a source."""
    model = transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(**SHAPE, attn_implementation="eager")
    ).eval()
    at = {name: value.detach() for name, value in model.named_parameters()}
    inside = [pattern.removesuffix("*") for pattern in layers_of(model).values()]
    groups = [{name: at[name] for name in at if name.startswith(prefix)} for prefix in inside]
    rest = {name: value for name, value in at.items() if not name.startswith(tuple(inside))}
    tokens = torch.randint(0, 64, (rows, LENGTH))
    return lambda: Linearized(ModuleLosses(model, causal_lm_losses), at, [tokens]).along([*groups, rest])


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> WindowCost:
    """Of the model of five blocks, from outlines of one, two and three."""
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(SHAPE))
    return WindowCost.of(path, LENGTH)


def test_operations_are_those_of_the_model_with_weights(counted):
    with FlopCounterMode(display=False) as counter:
        derivatives(8)()
    assert 8 * counted.operations == pytest.approx(counter.get_total_flops())
    assert counted.layers == 5


def test_bytes_are_those_of_the_model_with_weights_within_a_factor(counted):
    work = derivatives(8)
    with PeakMemory() as used:
        work()
    assert used.peak / 1.5 <= counted.footprint.bytes(8) <= used.peak * 1.5


@pytest.mark.parametrize("rule", ["gradient", "path"])
def test_operations_of_a_whole_field_are_foretold_within_a_factor(counted, tmp_path, rule):
    """Told from config.json, against a field of real checkpoints with all its checks and trials."""
    torch.manual_seed(0)
    model = transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(**SHAPE, attn_implementation="eager")
    ).eval()
    optimizer, tokens = torch.optim.Adam(model.parameters(), 1e-3), torch.randint(0, 64, (64, LENGTH))
    for step in range(3):
        model.save_pretrained(tmp_path / f"checkpoint-{step}")
        optimizer.zero_grad()
        causal_lm_losses(model, tokens).mean().backward()
        optimizer.step()
    trajectory = Trajectory.open(tmp_path, reader=read_weights)
    trajectory = replace(trajectory, mass=np.arange(3.0))
    asked = {"train": tokens, "rule": rule}
    with FlopCounterMode(display=False) as counter:
        priority_field(trajectory, ModuleLosses(model, causal_lm_losses), layers_of(model), **asked)
    interval = prepare(trajectory, ModuleLosses(model, causal_lm_losses), layers_of(model), **asked)
    points = sum(interval.counted(index)[1] for index in range(2))
    told = counted.field(rate=1.0, examples=64, intervals=2, rule=rule)
    operations = told.seconds * points / told.points
    assert operations / 1.5 <= counter.get_total_flops() <= operations * 1.5


EACH = WindowCost(layers=3, length=9, weights=1000, operations=2e6, footprint=Footprint(1e5, 1e4))


def test_time_is_that_of_every_point_window_and_interval_shared_by_workers():
    cost = EACH.field(rate=1e6, examples=8, intervals=5)
    assert (cost.seconds, cost.points, cost.events) == (2.0 * 8 * 20, 20.0, 64)
    assert EACH.field(rate=1e6, examples=8, intervals=5, rule="gradient").seconds == 2.0 * 8 * 5
    assert EACH.field(rate=1e6, examples=8, intervals=5, workers=100).seconds == cost.seconds / 5


def test_an_unknown_number_of_points_has_a_range_from_the_first_quadrature_rule_to_the_second():
    unknown = EACH.field(rate=1e6, examples=8, intervals=5)
    known = [EACH.field(rate=1e6, examples=8, intervals=5, points=float(points)) for points in COUNTS[:2]]
    assert unknown.seconds_range == tuple(one.seconds for one in known)
    assert [one.points for one in known] == [5 * points for points in COUNTS[:2]]
    assert known[0].seconds_range is None
    assert EACH.field(rate=1e6, examples=8, intervals=5, rule="gradient").seconds_range is None


def test_memory_beyond_the_budget_grows_with_the_field_alone():
    few, many = (EACH.field(rate=1e6, examples=n, intervals=5, memory=1e6) for n in (500, 5000))
    assert many.bytes - few.bytes == pytest.approx(2 * 4 * (3 + 2) * 5 * (many.events - few.events))
    assert few.bytes == pytest.approx(1e6 + 4 * 1000 + 2 * 4 * (3 + 2) * 5 * few.events, rel=0.02)


@pytest.mark.parametrize(
    "changes", [{"examples": 0}, {"intervals": 0}, {"workers": 0}, {"rate": 0.0}, {"points": 0.0}]
)
def test_what_measures_nothing_is_refused(changes):
    with pytest.raises(InvalidConfig, match="leave nothing to measure; give more than 0 of each"):
        EACH.field(**{"rate": 1e6, "examples": 8, "intervals": 5, **changes})


def test_the_command_tells_the_cost_and_makes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(SHAPE))
    monkeypatch.setattr(WindowCost, "of", lambda file, length: replace(EACH, length=length))
    command = ["discover", "config.json", "--estimate", "--rate", "1e-6", "--examples", "8", "--length", "9"]
    assert main([*command, "--intervals", "5", "--workers", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == 2.0 * 8 * 20
    assert main([*command, "--intervals", "5", "--workers", "1"]) == 0
    assert capsys.readouterr().out.startswith("an estimate: about 3 to 7 minutes, ")
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_block_with_random_weights_has_a_rate(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**SHAPE, "num_hidden_layers": 1}))
    assert measured_rate(file, LENGTH) > 0
