"""A damaged run: what is broken is named, and the other views work."""

import shutil

import pytest

from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.runs.errors import DamagedArtefact, QuantascopeError, RunMismatch

OWN = ("training", "quanta", "trace", "intervene")


@pytest.fixture
def copied(run, tmp_path):
    return shutil.copytree(run, tmp_path / "tiny")


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("factors.safetensors", {"training"}),
        ("priority/path-training.safetensors", {"training", "trace", "intervene"}),
        ("checkpoints/step-00000004.safetensors", {"training", "trace", "intervene"}),
        ("qmodel/faithful/qmodel.safetensors", {"training", "quanta"}),
        ("qmodel/faithful/config.json", {"training", "quanta"}),
        ("metrics.parquet", set()),
    ],
)
def test_what_is_damaged_is_named_and_the_rest_is_shown(copied, getter, name, left):
    flip(copied / name)
    get = getter(Explorer(open_runs([str(copied)]), "quantascope explore tiny"))
    index = get("index")
    assert any(name.rpartition("/")[2] in line for line in index["damaged"])
    views = index["runs"][0]["views"]
    assert {view for view in OWN if views[view]["there"]} >= left
    if "training" in left:
        assert get("runs/0/training")["losses"]
    if "quanta" in left:
        assert get("runs/0/quanta")["quanta"]
    if "trace" in left:
        assert get("runs/0/trace", input="7")["steps"]


def test_a_description_that_is_damaged_leaves_the_quanta(copied, getter):
    (copied / "semantics.parquet").write_bytes(b"PAR1 no table")
    get = getter(Explorer(open_runs([str(copied)]), ""))
    assert any("semantics.parquet" in line for line in get("index")["damaged"])
    assert all(row["description"] is None for row in get("runs/0/quanta")["quanta"])


def test_a_file_that_is_mended_is_read_again(copied, getter):
    file = copied / "factors.safetensors"
    whole = file.read_bytes()
    get = getter(Explorer(open_runs([str(copied)]), ""))
    assert get("runs/0/quanta")["quanta"]
    flip(file)
    with pytest.raises(DamagedArtefact, match=r"factors\.safetensors"):
        get("runs/0/quanta")
    file.write_bytes(whole)
    assert get("runs/0/quanta")["quanta"]


def test_a_run_without_quanta_names_the_commands_for_the_rest(copied, getter):
    shutil.rmtree(copied / "qmodel")
    get = getter(Explorer(open_runs([str(copied)]), ""))
    assert get("index")["runs"][0]["views"]["trace"]["command"] == f"quantascope fit {copied}"
    (copied / "factors.safetensors").unlink()
    views = get("index")["runs"][0]["views"]
    assert views["quanta"]["command"] == f"quantascope discover {copied}"
    assert views["training"]["there"]
    shown = get("runs/0/training")
    assert [one["kind"] for one in shown["losses"]] == ["step"]
    assert shown["quanta"] == []


def test_what_is_no_run_is_refused(tmp_path):
    for where in (tmp_path / "none", tmp_path):
        with pytest.raises(QuantascopeError):
            open_runs([str(where)])
    with pytest.raises(QuantascopeError, match="give 1 to 12"):
        open_runs([])


def test_one_damaged_run_leaves_the_other(run, copied, getter):
    flip(copied / "metrics.parquet")
    get = getter(Explorer(open_runs([str(copied), str(run)]), ""))
    first, second = get("index")["runs"]
    assert not any(first["views"][view]["there"] for view in OWN)
    assert all(second["views"][view]["there"] for view in OWN)
    assert get("runs/1/quanta")["quanta"]
    with pytest.raises((DamagedArtefact, RunMismatch)):
        get("runs/0/quanta")
