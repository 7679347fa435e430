"""A byte-level GPT-NeoX on source code, trained by the Trainer, all the way; and as a foreign series."""

import itertools
import shutil
import sysconfig
from pathlib import Path

import pytest
import torch

from quantascope.runs.errors import InvalidConfig
from quantascope.sources import code
from quantascope.sources.hugging_face import hugging_face_source
from quantascope.sources.open import open_source
from quantascope.tasks.code import corpus
from quantascope.tasks.code.task import code_task

MODULES = (
    "abc", "bisect", "calendar", "cmd", "colorsys", "contextvars", "copyreg", "filecmp", "fnmatch", "genericpath",
    "getpass", "heapq", "hmac", "keyword", "linecache", "netrc", "opcode", "posixpath", "queue", "sched", "stat",
    "struct", "textwrap", "this", "token", "types", "weakref", "zipapp",
)  # fmt: skip
TINY = (
    "steps=4",
    "intervals=2",
    "spacing=equal",
    "blocks=2",
    "width=8",
    "heads=2",
    "hidden=16",
    "warmup=1",
    "batch=4",
    "learning_rate=0.05",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library of few modules."""
    folder, whole = tmp_path_factory.mktemp("library"), Path(sysconfig.get_path("stdlib"))
    for module in MODULES:
        if (whole / f"{module}.py").is_file():
            shutil.copy(whole / f"{module}.py", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "library", lambda: folder)
        patch.setattr(corpus, "LENGTH", 24)
        patch.setattr("quantascope.tasks.code.task.HELD_OUT", 14)
        patch.setattr("quantascope.tasks.code.task.TEST", 14)
        yield folder


@pytest.fixture(scope="module")
def run(library, done, tmp_path_factory):
    folder = tmp_path_factory.mktemp("code") / "run"
    said = done("train", "code", "--out", folder, "--json", "--set", *TINY, "measured_on=training_10").json
    assert 4 < said["bits_per_byte"] < 9  # eight bits are those of chance
    return folder


def test_code_goes_the_whole_way(run, done):
    found = done("discover", run, "--threshold", "0.01", "--json").json
    assert found["completeness"] == pytest.approx(1, abs=0.02)
    done("fit", run, "--set", "updates=3", "parts=2")
    done("explain", run, "--permutations", "1")
    assert len(done("trace", run, "def f(", "--json").json["output"]) >= 1
    assert done("intervene", run, "--delete-all", "--json").json["where"] == "test"


def test_the_series_in_pythias_layout_is_the_same_trajectory(run, library, command, tmp_path):
    assert {path.name for path in (run / "series").iterdir()} == {"step0", "step2", "step4"}
    assert "3 checkpoints, nothing wrong" in command("audit", run / "series").out
    text = tmp_path / "text.txt"
    shutil.copy(library / "bisect.py", text)
    series = hugging_face_source(run / "series", text, length=16, out=tmp_path / "found")
    own = open_source(run)
    events = series.events("test")
    for step in (0, 2, 4):
        with torch.no_grad():
            torch.testing.assert_close(series.model(step)(events), own.model(step)(events))
    assert series.task.encode("if é:") == list("if é:".encode())
    assert own.trajectory.mass is not None


def test_no_module_and_no_window_is_in_two_splits(library):
    found = corpus.windows(library)
    modules = [{corpus.module_of(place.file) for place in found[name].values()} for name in found]
    for number, one in enumerate(modules):
        assert one
        assert not any(one & other for other in modules[:number])
    panels = [set(code_task().panel(name)) for name in ("training", "development", "test")]
    assert not any(one & other for one, other in itertools.combinations(panels, 2))


def test_an_interpreter_without_sources_is_refused(tmp_path):
    (tmp_path / "os.py").write_text("x = 1\n")
    with pytest.raises(InvalidConfig, match=r"has no sources of its standard library in .*; run quantascope with"):
        corpus.sources.__wrapped__(tmp_path)


def test_a_missing_trainer_is_told_with_its_remedy(library, monkeypatch):
    monkeypatch.setattr(code.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match="transformers is not installed; pip install"):
        code.check_code(code.CodeConfig())
