"""Names of devices, and where models and batches are."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from quantascope.cli.main import main
from quantascope.models.device import CPU, device_of, find_device, moved, noise_like
from quantascope.runs.errors import InvalidConfig
from quantascope.training import OptimizerConfig
from quantascope.training.footprint import check_training

META = torch.device("meta")


class Pair(NamedTuple):
    rows: Tensor
    title: str


@dataclass(frozen=True)
class Held:
    rows: list[Tensor]
    count: int


@pytest.mark.parametrize("name", ["gpu", "", "cuda:", "cuda:x", "cuda:1000", "CUDA", "meta", "mps:1", "cpu "])
def test_a_name_of_no_device_is_refused_with_those_that_there_are(name):
    with pytest.raises(InvalidConfig, match=f"there is no device '{name}'; give cpu, cuda, cuda:N or mps"):
        find_device(name)


def refusal(name):
    with pytest.raises(InvalidConfig) as refused:
        find_device(name)
    return str(refused.value)


def test_a_device_that_is_not_there_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    assert refusal("cuda") == "cuda is not available here: this torch build has no CUDA; use --device cpu"
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "cuda:1 is not available here: torch finds no GPU, or no driver for it;" in refusal("cuda:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("cuda:1") == find_device(torch.device("cuda:1")) == torch.device("cuda", 1)
    assert "cuda:2 is not available here: the last GPU is cuda:1;" in refusal("cuda:2")
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: False)
    assert "mps is not available here: this torch build has no MPS;" in refusal("mps")
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert "mps is not available here: torch finds no Apple GPU;" in refusal("mps")


@pytest.mark.parametrize(
    "command",
    [
        "train hsp --out {out}", "train number-naming --out {out}", "train compiled --out {out}", "audit {out}",
        "discover {out}", "fit {out}", "explain {out}", "trace {out} 346", "intervene {out}", "guide --out {out}",
        "reproduce flat-acquisition --out {out}",
    ],
)  # fmt: skip
def test_every_command_that_runs_a_network_refuses_an_unknown_device_before_it_writes(command, tmp_path, capsys):
    out = tmp_path / "run"
    assert main([*command.format(out=out).split(), "--device", "gpu"]) == 2
    assert capsys.readouterr().err == "quantascope: there is no device 'gpu'; give cpu, cuda, cuda:N or mps\n"
    assert not out.exists()


def test_a_batch_is_moved_with_all_that_it_holds():
    rows = torch.zeros(2)
    pair = moved(Pair(rows, "zeros"), META)
    assert isinstance(pair, Pair)
    assert (pair.rows.device, pair.title) == (META, "zeros")
    assert moved({"a": (rows, 1)}, META)["a"][0].device == META
    held = moved(Held([rows], 3), META)
    assert (held.rows[0].device, held.count) == (META, 3)
    assert moved("a text", META) == "a text"


def test_a_batch_for_the_cpu_is_the_same_object():
    batch = {"rows": torch.zeros(2)}
    assert moved(batch, CPU) is batch


def test_a_network_must_fit_into_the_memory_of_its_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (4e6 if device.index else 4e7, 4e9))
    check_training(10**6, OptimizerConfig(), what="a width", device=torch.device("cuda", 0))
    with pytest.raises(InvalidConfig, match=r"a width needs about 16.00 MB of memory, and 4.00 MB are available"):
        check_training(10**6, OptimizerConfig(), what="a width", device=torch.device("cuda", 1))


def test_a_model_runs_where_its_parameters_are():
    assert device_of(nn.Linear(1, 1, device="meta")) == META
    assert device_of(nn.ReLU()) == device_of(len) == CPU


def test_noise_is_what_the_cpu_draws_from_its_seed():
    values = torch.zeros(3, 5).T  # of strides that are not those of its shape
    torch.manual_seed(0)
    drawn = noise_like(values)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.randn_like(values))
