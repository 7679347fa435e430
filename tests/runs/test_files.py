"""Files of strangers: links lead nowhere, special files do not block, leftovers go, unreadable is not damaged."""

import os
import subprocess
import sys
import textwrap

import pytest

from quantascope.runs.artefact import read_json, read_tensors, write_json
from quantascope.runs.config import Config
from quantascope.runs.errors import DamagedArtefact, StorageFailed, UnreadableFile
from quantascope.runs.files import held, is_held, remove_partials, write_bytes
from quantascope.runs.run_directory import RunDirectory, is_run, locked, read_run


class Walk(Config):
    steps: int = 3


def test_a_planted_link_under_a_temporary_name_is_never_written_through(tmp_path, monkeypatch):
    outside = tmp_path / "precious"
    outside.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".a.json.guessed.partial").symlink_to(outside)
    with pytest.raises(StorageFailed, match=r"cannot write .*a\.json: File exists"):
        write_json(tmp_path / "a.json", "theirs")
    assert outside.read_text() == "mine"


def test_temporary_names_cannot_be_guessed(tmp_path, monkeypatch):
    names = []
    monkeypatch.setattr("os.fsync", lambda _: names.extend(one.name for one in tmp_path.glob(".*.partial")))
    for _ in range(2):
        write_json(tmp_path / "a.json", 1)
    assert len(set(names)) == 2
    assert not any(str(os.getpid()) in name for name in names)


@pytest.mark.parametrize("name", [".lock", "priority", "metrics.parquet", "qmodel/faithful"])
def test_a_run_with_a_link_out_of_it_is_refused(tmp_path, name):
    run, outside = RunDirectory.open(tmp_path / "run", Walk()).path, tmp_path / "outside"
    outside.mkdir()
    (run / name).unlink(missing_ok=True)
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).symlink_to(outside)
    with pytest.raises(DamagedArtefact, match=f"{name} is a link out of its run"):
        read_run(run)
    assert list(outside.iterdir()) == []


def test_a_link_within_a_run_and_a_link_to_a_run_are_fine(tmp_path):
    run = RunDirectory.open(tmp_path / "run", Walk()).path
    (run / "again.json").symlink_to(run / "config.json")
    (tmp_path / "short").symlink_to(run)
    assert read_run(tmp_path / "short").kind == "Walk"


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "made")
    with pytest.raises(StorageFailed), locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "made").exists()


DYING = textwrap.dedent("""
    import os, sys
    from pathlib import Path
    from quantascope.runs import files
    os.fsync = lambda _: os.kill(os.getpid(), 9)
    files.write_bytes(Path(sys.argv[1]), b"half")
""")


def test_what_a_killed_writer_leaves_is_removed_at_the_next_start_and_a_live_one_is_left_alone(tmp_path):
    run = tmp_path / "run"
    for name in ("a.json", "checkpoints/step-00000001.safetensors", "qmodel/faithful/semantics.parquet"):
        assert subprocess.run([sys.executable, "-c", DYING, str(run / name)]).returncode == -9
    assert len(list(run.rglob("*.partial"))) == 3
    with held(run / ".alive.partial"):
        with locked(run):
            assert [one.name for one in run.rglob("*.partial")] == [".alive.partial"]
        assert is_held(run / ".alive.partial")
    remove_partials(run)
    assert list(run.rglob("*.partial")) == []


@pytest.mark.parametrize("kind", ["FIFO", "folder", "device"])
def test_special_files_are_refused_and_do_not_block(tmp_path, kind):
    file = tmp_path / "a.safetensors"
    {"FIFO": os.mkfifo, "folder": os.mkdir, "device": lambda path: path.symlink_to("/dev/zero")}[kind](file)
    with pytest.raises(DamagedArtefact, match=rf"a\.safetensors is a {kind}, not a regular file"):
        read_tensors(file, made_by=None)


def test_a_file_that_may_not_be_read_is_called_unreadable_and_nobody_is_told_to_remove_it(tmp_path, monkeypatch):
    write_json(tmp_path / "config.json", {"format": 2})

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("os.open", denied)
        for read in (read_json, lambda file: is_run(file.parent), lambda file: read_tensors(file, made_by=None)):
            with pytest.raises(
                UnreadableFile, match=r"cannot read .*config\.json: Permission denied; fix"
            ) as told:
                read(tmp_path / "config.json")
            assert "move" not in str(told.value)
    monkeypatch.setattr("pathlib.Path.stat", denied)
    with pytest.raises(UnreadableFile, match="Permission denied"):
        read_run(tmp_path)


def test_a_folder_that_may_not_be_listed_is_called_unreadable(tmp_path, monkeypatch):
    run = RunDirectory.open(tmp_path / "run", Walk()).path

    def denied(*_):
        raise PermissionError(13, "Permission denied", str(run))

    monkeypatch.setattr("os.scandir", denied)
    with pytest.raises(UnreadableFile, match=r"cannot read .*run: Permission denied"):
        read_run(run)


def test_a_file_is_held_while_its_holder_lives(tmp_path):
    write_bytes(tmp_path / "ticket", b"")
    assert not is_held(tmp_path / "ticket")
    assert not is_held(tmp_path / "nothing")
    with held(tmp_path / "other"):
        assert is_held(tmp_path / "other")
    assert not (tmp_path / "other").exists()
