"""Files are whole or absent, carry their origin, and fail with one clear line."""

import errno
import os
import resource
import subprocess
import sys

import polars as pl
import pytest
import torch

from quantascope.runs.artefact import (
    read_json,
    read_table,
    read_tensors,
    write_json,
    write_table,
    write_tensors,
)
from quantascope.runs.errors import DamagedArtefact, RunMismatch, StorageFailed
from quantascope.runs.files import write_bytes


def test_each_format_gives_back_what_was_written(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, 2.5, None]})
    assert read_json(tmp_path / "a.json") == {"b": [1, 2.5, None]}
    write_tensors(tmp_path / "a.safetensors", {"x": torch.arange(3)}, made_by="h", step=7, mass=0.25)
    tensors, about = read_tensors(tmp_path / "a.safetensors", made_by="h")
    assert tensors["x"].tolist() == [0, 1, 2]
    assert about == {"step": 7, "mass": 0.25}
    write_table(tmp_path / "a.parquet", pl.DataFrame({"x": [[1.0, 2.0], [3.0, 4.0]]}), made_by="h")
    assert read_table(tmp_path / "a.parquet", made_by="h")["x"].to_list() == [[1.0, 2.0], [3.0, 4.0]]


def test_equal_tensors_are_equal_bytes(tmp_path):
    for name in ("a", "b"):
        write_tensors(tmp_path / name, {"x": torch.ones(2), "y": torch.zeros(1)}, made_by="h", step=1, mass=2.0)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, moment):
    file = tmp_path / "a.json"
    write_json(file, "old")

    def no_space(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, moment, no_space) if moment == "fsync" else patch.setattr(
            "pathlib.Path.replace", no_space
        )
        with pytest.raises(StorageFailed, match=r"cannot write .*a\.json: No space left on device; free space"):
            write_json(file, "new")
    assert read_json(file) == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_size_limit_of_the_system_is_met_like_a_full_disk(tmp_path):
    """A real failing write, half way through the file."""
    program = (
        "import sys; from pathlib import Path; from quantascope.runs.files import write_bytes\n"
        "try: write_bytes(Path(sys.argv[1]), bytes(1_000_000))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-B",
            "-c",
            program,
            str(tmp_path / "big"),
        ],  # Python would cut its cache short and keep it
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert done.stdout.startswith("StorageFailed cannot write")
    assert list(tmp_path.iterdir()) == []


def test_a_parent_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="cannot write"):
        write_bytes(tmp_path / "file" / "child", b"")


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a.json", read_json),
        ("a.safetensors", lambda path: read_tensors(path, made_by="h")),
        ("a.parquet", lambda path: read_table(path, made_by="h")),
    ],
)
def test_truncated_foreign_and_missing_files_are_told_by_name(tmp_path, name, read):
    file = tmp_path / name
    with pytest.raises(DamagedArtefact, match=f"{name} is missing"):
        read(file)
    write_json(tmp_path / "a.json", {"x": list(range(50))})
    write_tensors(tmp_path / "a.safetensors", {"x": torch.zeros(100)}, made_by="h")
    write_table(tmp_path / "a.parquet", pl.DataFrame({"x": range(100)}), made_by="h")
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"\x00\xffnot this format at all"):
        file.write_bytes(damaged)
        with pytest.raises(DamagedArtefact, match=f"{name} is damaged or foreign"):
            read(file)


def test_an_artefact_of_another_config_or_another_program_is_refused(tmp_path):
    write_table(tmp_path / "a.parquet", pl.DataFrame({"x": [1]}), made_by="one")
    with pytest.raises(RunMismatch, match="made by config one, not by two"):
        read_table(tmp_path / "a.parquet", made_by="two")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DamagedArtefact, match="was not written by quantascope"):
        read_table(tmp_path / "b.parquet", made_by="two")
    assert read_table(tmp_path / "b.parquet", made_by=None)["x"].to_list() == [1]


def test_nan_is_refused_in_json(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert not (tmp_path / "a.json").exists()
