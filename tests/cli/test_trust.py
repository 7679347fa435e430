"""Runs of strangers through real commands: foreign members are refused, and nothing they say steers a terminal."""

import json
import os
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from quantascope.cli import main
from quantascope.runs.artefact import read_record, write_record, write_table
from quantascope.sources.trained import train_source

HOSTILE = "[/x]\x1b[31m\x1b]0;gone\x07 $\\frac{$ \u202eevil\ud800"


@pytest.fixture
def run(tiny_fit, tmp_path):
    return shutil.copytree(tiny_fit.source.folder, tmp_path / "source")


@pytest.fixture(scope="module")
def other(tiny_config, tmp_path_factory):
    """The same source from another seed."""
    return train_source(tiny_config.replace({"seed": 7}), tmp_path_factory.mktemp("other") / "source").folder


def complaint(capsys, *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("command", [["discover"], ["fit"], ["trace", "346"], ["audit"]])
def test_a_checkpoint_of_another_seed_is_refused_by_every_command(run, other, command, capsys):
    name = sorted(file.name for file in (run / "checkpoints").iterdir())[-1]
    shutil.copy(other / "checkpoints" / name, run / "checkpoints" / name)
    arguments = [command[0], str(run), *command[1:]]
    if command == ["audit"]:
        assert main(arguments) == 1
        assert "other config: step 24 is of another run" in capsys.readouterr().out
    else:
        assert f"{name} is a checkpoint of another run" in complaint(capsys, *arguments)


def test_a_checkpoint_under_the_name_of_another_step_is_refused(run, capsys):
    files = sorted((run / "checkpoints").iterdir())
    shutil.copy(files[0], files[1])
    assert "there twice" in complaint(capsys, "trace", str(run), "346")
    files[0].unlink()
    assert "says that it is of step 0" in complaint(capsys, "trace", str(run), "346")


@pytest.mark.parametrize("content", [None, "[]", "null", "{}", '{"a": 1}', "{"])
def test_audit_does_not_pass_a_run_without_its_config(run, content, capsys):
    (run / "config.json").unlink() if content is None else (run / "config.json").write_text(content)
    assert main(["audit", str(run)]) in (1, 2)
    said = capsys.readouterr()
    assert "config.json" in said.out + said.err
    assert "move" not in said.err


@pytest.mark.parametrize("name", ["checkpoints/step-00000024.safetensors", "metrics.parquet", "config.json"])
def test_a_fifo_blocks_no_command(run, name, capsys):
    (run / name).unlink()
    os.mkfifo(run / name)
    for command in (["audit", str(run)], ["trace", str(run), "346"]):
        assert main(command) in (1, 2)
    assert "FIFO" in "".join(capsys.readouterr())


def steers(text: str) -> list[str]:
    return [one for one in text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


def test_hostile_descriptions_and_folder_names_are_shown_and_not_obeyed(tiny_fit, tmp_path, capsys):
    run = shutil.copytree(tiny_fit.source.folder, tmp_path / HOSTILE.replace("/", "").replace("\ud800", "\n"))
    names = tiny_fit.model.names
    table = pl.DataFrame({"unit": names, "description": [HOSTILE.replace("\ud800", "\n")] * len(names)})
    write_table(run / "qmodel" / "faithful" / "semantics.parquet", table, made_by=tiny_fit.config.hash())
    for command in (["trace", "346"], ["intervene", "346"], ["audit"], ["discover", "--workers", "1"]):
        assert main([command[0], str(run), *command[1:]]) in (0, 1)
        said = capsys.readouterr()
        assert steers(said.out + said.err) == []
        assert main([command[0], str(run), *command[1:], "--json"]) in (0, 1)
        json.loads(capsys.readouterr().out)


def test_a_hostile_kind_is_refused_in_one_harmless_line(run, capsys):
    about = read_record(run / "config.json", made_by=None)
    write_record(run / "config.json", about | {"kind": f"{HOSTILE}\n" * 999}, made_by=about["hash"])
    for command in (["trace", str(run), "346"], ["discover", str(run)], ["fit", str(run)]):
        said = complaint(capsys, *command)
        assert steers(said) == []
        assert len(said) < 2100


def command(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "quantascope.cli", *arguments], text=True, **options)


def test_a_full_output_and_a_plain_one_end_in_one_line():
    with Path("/dev/full").open("w") as full:
        done = command("simulate", "--depth", "3", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == "quantascope: No space left on device; free space, or use another disk\n"
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = command("simulate", "--depth", "3", capture_output=True, env=ascii_only)
    assert done.returncode == 0, done.stderr
    assert "\\u03b1 = 0.2" in done.stdout
