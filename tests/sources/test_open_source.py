"""What is no source, or no input of one, is refused in one line that says what to do."""

import json
import shutil
from types import SimpleNamespace

import polars as pl
import pytest

from quantascope.runs.artefact import write_record
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.open import open_source

SHORT = ("--set", "updates=4", "parts=2")


@pytest.fixture(scope="module")
def fitted(reversal, done):
    """A run with factors and a Q-model, and the option that names its task."""
    folder, task = reversal
    done("discover", folder, "--task", task)
    done("fit", folder, "--task", task, *SHORT)
    return folder, "--task", task


def test_a_file_without_a_name_is_refused(digits, refused):
    file = digits.removesuffix(":source")
    assert f"write FILE.py:NAME, as in {file}:source" in refused("discover", file)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("number", "is int, not a Source; build one with quantascope.module_source"),
        ("broken", "raises ValueError: no such thing; fix the file"),
        ("nothing", "does not define 'nothing'; it defines"),
    ],
)
def test_a_name_that_is_no_source_is_refused(digits, refused, name, complaint):
    assert complaint in refused("discover", digits.replace(":source", f":{name}"))


def test_a_source_in_a_file_stays_on_its_own_device_unless_another_is_given(digits):
    where = digits.replace(":source", ":elsewhere")
    assert open_source(where).device.type == "meta"
    assert open_source(where, device="cpu").device.type == "cpu"


def test_a_missing_step_is_told_with_the_command_that_makes_it(addition, refused, tmp_path):
    folder = shutil.copytree(addition, tmp_path / "of mine")
    assert f"find them with quantascope discover '{folder}'" in refused("fit", folder)


def test_a_place_that_is_not_there_is_refused(refused, tmp_path):
    assert "give a run folder, FILE.py:NAME, or a folder of checkpoints" in refused("discover", tmp_path / "none")
    assert "is neither a run nor a folder of checkpoints" in refused("discover", tmp_path)
    assert "give the path of a Python file" in refused("discover", f"{tmp_path / 'none.py'}:source")


def test_checkpoints_without_data_are_refused(gpt2, refused, tmp_path):
    folder = shutil.copytree(gpt2 / "checkpoints", tmp_path / "checkpoints")
    assert "give their training data with --data FILE" in refused("discover", folder)
    assert "give a .txt, .jsonl or .parquet file" in refused("discover", folder, "--data", tmp_path / "none.txt")
    (tmp_path / "pairs.csv").write_text("a,b\n")
    assert "give .txt, .jsonl or .parquet" in refused("discover", folder, "--data", tmp_path / "pairs.csv")


def test_checkpoints_without_a_tokenizer_are_refused(gpt2, refused, tmp_path):
    folder = shutil.copytree(gpt2 / "checkpoints", tmp_path / "checkpoints")
    for file in folder.rglob("tokenizer*"):
        file.unlink()
    err = refused("discover", folder, "--data", gpt2 / "pairs.jsonl")
    assert "save it there with tokenizer.save_pretrained" in err


def test_a_text_shorter_than_a_window_is_refused(neox, refused, tmp_path):
    (tmp_path / "text.txt").write_text("the cat ran")
    folder = shutil.copytree(neox / "checkpoints", tmp_path / "checkpoints")
    err = refused("discover", folder, "--data", tmp_path / "text.txt")
    assert "a text of 3 tokens has no window of 64; give a longer text, or a --length from 2 to 3" in err


def test_pairs_without_an_answer_are_refused(gpt2, refused, tmp_path):
    folder = shutil.copytree(gpt2 / "checkpoints", tmp_path / "checkpoints")
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "a:", "sound": "b"}\n')
    err = refused("discover", folder, "--data", tmp_path / "pairs.jsonl")
    assert "has columns prompt, sound, but no answer; add it" in err


@pytest.mark.parametrize("kind", ["bert", "t5", "opt"])
def test_a_family_without_an_adapter_is_named(gpt2, refused, tmp_path, kind):
    folder = shutil.copytree(gpt2 / "checkpoints", tmp_path / "checkpoints")
    for file in folder.glob("*/config.json"):
        file.write_text(json.dumps({"model_type": kind}))
    err = refused("discover", folder, "--data", gpt2 / "pairs.jsonl")
    assert f"a model of type '{kind}' has no adapter; there are adapters for gpt2, gpt_neox, llama" in err
    assert "give FILE.py:source" in err


def test_a_property_table_of_other_events_is_refused(fitted, refused, tmp_path):
    folder, *task = fitted
    (tmp_path / "words.py").write_text(
        "from quantascope import Properties\n"
        "def table(inputs):\n"
        "    return Properties.of({'x': [True, False]}, {'x': 'x'}, example=[0, 1])\n"
        "def number(inputs):\n"
        "    return 3\n"
        "def broken(inputs):\n"
        "    return {}['no']\n"
        "five = 5\n"
    )
    events = {panel: open_source(folder, task=task[1]).events(panel).count for panel in ("calibration", "test")}

    def said(table):
        return refused("explain", folder, *task, "--properties", table)

    same = f"and the source has {events['calibration']}; give a table of the same events in the same order"
    assert f"has 2 events of panel 'calibration', {same}" in said(f"{tmp_path}/words.py:table")
    assert "returns int; let it return quantascope.Properties" in said(f"{tmp_path}/words.py:number")
    assert "raises KeyError: 'no'; fix the file" in said(f"{tmp_path}/words.py:broken")
    assert "is not a function; write def five(inputs) -> Properties" in said(f"{tmp_path}/words.py:five")
    pl.DataFrame({"panel": ["calibration"] * 3, "x": [True, False, True]}).write_parquet(tmp_path / "few.parquet")
    assert f"has 3 events of panel 'calibration', {same}" in said(tmp_path / "few.parquet")
    pl.DataFrame({"panel": ["other"], "x": [True]}).write_parquet(tmp_path / "other.parquet")
    assert "has no events of panel 'calibration'; add them" in said(tmp_path / "other.parquet")
    pl.DataFrame({"x": [True]}).write_parquet(tmp_path / "none.parquet")
    assert "it needs `panel` and some properties" in said(tmp_path / "none.parquet")
    assert "give the path of a parquet file" in said(tmp_path / "missing.parquet")
    assert "write FILE.py:NAME" in said(tmp_path / "words.py")


def test_the_table_of_a_program_for_other_inputs_is_refused(fitted, refused, monkeypatch):
    def stop(inputs):
        raise InvalidConfig(f"{inputs[0]!r} is no pair; give one")

    task = SimpleNamespace(compiled=SimpleNamespace(trace=stop))
    monkeypatch.setattr("quantascope.semantics.tables.program_task", lambda program: task)
    folder, *named = fitted
    err = refused("explain", folder, *named, "--properties", "addition")
    assert "the program addition does not run on the inputs of" in err
    assert "give a program of the same task, or leave out --properties" in err


def test_a_property_table_of_these_events_is_used(fitted, done, tmp_path):
    folder, *task = fitted
    source = open_source(folder, task=task[1])
    columns = {panel: source.events(panel) for panel in ("calibration", "test")}
    table = pl.concat(
        pl.DataFrame({"panel": panel, "example": events.example.tolist(), "early": (events.index < 2).tolist()})
        for panel, events in columns.items()
    )
    table.write_parquet(tmp_path / "words.parquet")
    said = done("explain", folder, *task, "--properties", tmp_path / "words.parquet", "--json").json
    described = {one["description"] for one in said["names"] if one["f1"] is not None}
    assert described <= {"early", "not early"}
    assert described


@pytest.mark.parametrize(
    "arguments",
    [["discover", "--panel", "none"], ["explain", "--test", "none"], ["intervene", "--panel", "none"]],
)
def test_an_unknown_panel_is_refused(fitted, refused, arguments):
    folder, *task = fitted
    err = refused(arguments[0], folder, *arguments[1:], *task)
    assert "there is no panel 'none'; there are training, held_out, calibration, test" in err


def test_a_fit_without_a_model_that_runs_is_refused(reversal, refused, tmp_path, done):
    folder, task = reversal
    file = tmp_path / "silent.py"
    file.write_text(
        "import dataclasses\n"
        "from pathlib import Path\n"
        "from quantascope import open_source\n"
        "def source():\n"
        f"    whole = open_source({str(folder)!r}, task={task!r})\n"
        f"    return dataclasses.replace(whole, model_at=None, folder=Path({str(tmp_path / 'found')!r}))\n"
    )
    done("discover", f"{file}:source")
    err = refused("fit", f"{file}:source")
    assert "has no `model_at`" in err
    assert "give Source(…, model_at=…), which returns a ResidualModel at a step" in err


def test_an_input_that_the_task_does_not_know_is_refused(fitted, gpt2, refused, done):
    folder, *task = fitted
    assert "needs 'z', which is not in the vocabulary" in refused("trace", folder, "abz", *task)
    where = gpt2 / "checkpoints"
    done("discover", where, "--data", gpt2 / "pairs.jsonl")
    done("fit", where, *SHORT)
    assert "the tokenizer does not know all of 'CAT!'" in refused("trace", where, "CAT!")
    assert "type at least one token" in refused("trace", where, "")
    assert "of the model's 16 positions; give a shorter one" in refused("trace", where, "a" * 16)
    assert "intervene on a panel" in refused("intervene", where, "zzz:")


def test_an_unknown_unit_or_channel_is_refused(fitted, refused):
    folder, *task = fitted
    assert "there is no unit 'L9.Q9' to ablate; quanta are L0.Q0" in refused(
        "intervene", folder, *task, "--ablate", "L9.Q9"
    )
    assert "there is no unit 'L0.Q0.W0' to force" in refused("intervene", folder, *task, "--force", "L0.Q0.W0")
    assert "there is no channel 'L1.Q0->L0.Q0'; the channels are" in refused(
        "intervene", folder, *task, "--delete", "L1.Q0->L0.Q0"
    )
    assert "give either the input 'abc' or the panel 'test'" in refused(
        "intervene", folder, "abc", *task, "--panel", "test"
    )


def test_a_run_of_another_kind_is_refused(refused, tmp_path):
    about = {"format": 2, "kind": "forest", "config": {}, "made_with": {}}
    write_record(tmp_path / "config.json", about, made_by="x")
    err = refused("discover", tmp_path)
    assert "is a run of 'forest', which is not a source; make one with quantascope train TASK" in err
