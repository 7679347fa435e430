"""A network is read back as it was saved, or refused in one line."""

import pytest
import torch
from torch import nn

from quantascope.models.saved import load_model, save_model
from quantascope.runs.artefact import write_tensors
from quantascope.runs.errors import DamagedArtefact, RunMismatch


def build(about):
    return nn.Linear(about["inputs"], about["outputs"])


def load(file, **options):
    return load_model(file, build, kind="line", make="the maker", **options)


@pytest.fixture
def file(tmp_path):
    save_model(tmp_path / "m", nn.Linear(3, 2), kind="line", about={"inputs": 3, "outputs": 2}, made_by="one")
    return tmp_path / "m"


def test_a_network_of_a_users_own_is_saved_and_read_back(tmp_path):
    shared = nn.Linear(3, 3)
    tied = nn.Sequential(shared, nn.Tanh(), shared)
    save_model(tmp_path / "m", tied, kind="tied", about={"width": 3}, made_by="one")

    def build_tied(about):
        one = nn.Linear(about["width"], about["width"])
        return nn.Sequential(one, nn.Tanh(), one)

    again, about = load_model(tmp_path / "m", build_tied, kind="tied", make="x", made_by="one")
    assert torch.equal(again(torch.eye(3)), tied(torch.eye(3)))
    assert about == {"width": 3}
    assert not again.training


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({"weight": torch.zeros(2, 3)}, "'bias' is missing"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2), "x": torch.zeros(1)}, "'x' is not part"),
        ({"weight": torch.zeros(3, 2), "bias": torch.zeros(2)}, r"'weight' is torch.float32 \[3, 2\], not"),
        ({"weight": torch.zeros(2, 3).double(), "bias": torch.zeros(2)}, "'weight' is torch.float64"),
        (
            {"weight": torch.full((2, 3), torch.nan), "bias": torch.zeros(2)},
            "'weight' has values that are not f",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path, tensors, says):
    about = {"inputs": 3, "outputs": 2}
    write_tensors(tmp_path / "m", tensors, made_by="one", kind="line", about=about)
    with pytest.raises(DamagedArtefact, match=f"m does not hold the weights of its line: {says}"):
        load(tmp_path / "m")


def test_other_kinds_other_configs_and_older_formats_are_refused_by_name(file, tmp_path):
    with pytest.raises(RunMismatch, match="made by config one, not by two"):
        load(file, made_by="two")
    with pytest.raises(DamagedArtefact, match="holds a line, not a curve; give a file of the maker"):
        load_model(file, build, kind="curve", make="the maker")
    write_tensors(tmp_path / "old", nn.Linear(3, 2).state_dict(), made_by="one", kind="line", inputs=3)
    with pytest.raises(DamagedArtefact, match="older version of quantascope"):
        load(tmp_path / "old")
    write_tensors(tmp_path / "odd", {}, made_by="one", kind="line", about={"inputs": -3, "outputs": 2})
    with pytest.raises(DamagedArtefact, match="odd does not describe a line"):
        load(tmp_path / "odd")
