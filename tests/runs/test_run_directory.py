import json

import pytest

from quantascope.runs.config import Config
from quantascope.runs.errors import DamagedArtefact, RunMismatch
from quantascope.runs.run_directory import RunDirectory


class Walk(Config):
    steps: int = 3
    pace: float = 1.0


class Swim(Config):
    steps: int = 3


def test_a_run_is_made_once_and_opened_again_with_the_same_config(tmp_path):
    first = RunDirectory.open(tmp_path / "run", Walk())
    again = RunDirectory.open(tmp_path / "run", Walk(steps=3))
    assert first == again
    described = json.loads((tmp_path / "run" / "config.json").read_text())
    assert described["config"] == {"steps": 3, "pace": 1.0}
    assert described["hash"] == first.hash


def test_another_config_is_told_what_differs(tmp_path):
    RunDirectory.open(tmp_path / "run", Walk())
    with pytest.raises(RunMismatch, match=r"another config \(steps: 3 -> 4\)"):
        RunDirectory.open(tmp_path / "run", Walk(steps=4))
    with pytest.raises(RunMismatch, match="a run of 'Walk', not of 'Swim'; choose another folder"):
        RunDirectory.open(tmp_path / "run", Swim())


def test_a_run_of_another_config_is_replaced_if_asked(tmp_path):
    RunDirectory.open(tmp_path / "run", Walk())
    (tmp_path / "run" / "figures").mkdir()
    (tmp_path / "run" / "figures" / "path.png").write_text("of 3 steps")
    (tmp_path / "run" / "path.json").write_text("of 3 steps")
    RunDirectory.open(tmp_path / "run", Walk(), replace=True)
    assert (tmp_path / "run" / "path.json").exists()  # it is of this config
    with pytest.raises(RunMismatch, match="not of 'Swim'; choose another folder"):
        RunDirectory.open(tmp_path / "run", Swim(), replace=True)
    replaced = RunDirectory.open(tmp_path / "run", Walk(steps=4), replace=True)
    assert sorted(one.name for one in replaced.path.iterdir()) == [".lock", "config.json"]
    assert RunDirectory.open(tmp_path / "run", Walk(steps=4)) == replaced


def killed(*_, **__):
    raise KeyboardInterrupt


def test_a_replacement_that_is_killed_leaves_a_run_that_can_be_replaced(tmp_path, monkeypatch):
    RunDirectory.open(tmp_path / "run", Walk())
    (tmp_path / "run" / "path.json").write_text("of 3 steps")
    with monkeypatch.context() as patch:
        patch.setattr(
            "quantascope.runs.run_directory.write_record", lambda *_, **__: exec("raise KeyboardInterrupt")
        )
        with pytest.raises(KeyboardInterrupt):
            RunDirectory.open(tmp_path / "run", Walk(steps=4), replace=True)
    with pytest.raises(RunMismatch, match=r"another config \(steps: 3 -> 4\); choose another folder"):
        RunDirectory.open(tmp_path / "run", Walk(steps=4))
    assert RunDirectory.open(tmp_path / "run", Walk(steps=4), replace=True).config == Walk(steps=4)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(DamagedArtefact, match=r"no config\.json; choose an empty or new folder"):
        RunDirectory.open(tmp_path, Walk())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"config": 3}'])
def test_a_damaged_or_foreign_config_file_is_named(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(DamagedArtefact, match=r"config\.json"):
        RunDirectory.open(tmp_path, Walk())


def test_a_run_in_use_is_not_written_by_a_second_process(tmp_path):
    run = RunDirectory.open(tmp_path / "run", Walk())
    with run.locked(), pytest.raises(RunMismatch, match="in use by another process"), run.locked():
        pass
    with run.locked():
        pass  # the first holder has let go
