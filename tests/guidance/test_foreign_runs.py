"""A run of somebody else's never executes code: what it keeps is text, and runs only if the user names it."""

import json
import shutil
from pathlib import Path

import pytest

from quantascope.cli import main
from quantascope.guidance.guide import learn_guided
from quantascope.guidance.learner import GuidedLearner
from quantascope.qmodel.compiled.fit import read_compiled
from quantascope.runs.artefact import write_record
from quantascope.runs.config import fingerprint
from quantascope.runs.errors import RunMismatch
from quantascope.sources.user_file import check_named


@pytest.fixture
def ran(tmp_path) -> Path:
    """What a hostile file leaves behind if it is executed."""
    return tmp_path / "ran"


def rewrite(run: Path, program: str, *keys: str) -> None:
    """Let a run say that it was made with another program; the keys lead there in its config."""
    about = json.loads((run / "config.json").read_text())
    place = about["config"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = program
    del about["digest"], about["hash"]
    write_record(run / "config.json", about, made_by=fingerprint(about["config"]))


def forge(run: Path, ran: Path, *keys: str) -> None:
    """Let a run say that it was made with a file of its own, which leaves a trace when it is executed."""
    hostile = run / "program.py"
    hostile.write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\n{hostile.read_text()}")
    (run / "program.json").unlink()  # as in a run of an older version
    rewrite(run, str(hostile), *keys)


@pytest.fixture
def forged(teacher, ran, tmp_path) -> Path:
    """A compiled run whose program is hostile."""
    run = shutil.copytree(teacher, tmp_path / "forged")
    forge(run, ran, "program")
    return run


@pytest.fixture
def forged_network(program, teacher, ran, tmp_path) -> Path:
    """A guided run whose program is hostile."""
    teacher_run = read_compiled(teacher, program=program)
    settings = {"training.steps": 2, "model.blocks": 3, "teacher": teacher_run.config.model_dump(mode="json")}
    learn_guided(GuidedLearner().replace(settings), tmp_path / "network", teacher_run)
    forge(tmp_path / "network", ran, "teacher", "program")
    return tmp_path / "network"


COMMANDS = {
    "explain": ["explain", "RUN"],
    "audit": ["audit", "RUN"],
    "discover": ["discover", "RUN"],
    "fit": ["fit", "RUN"],
    "trace": ["trace", "RUN", "7"],
    "intervene": ["intervene", "RUN"],
    "guide by it": ["guide", "--teacher", "RUN", "--out", "NEW"],
    "guide by it without guidance": ["guide", "--teacher", "RUN", "--out", "NEW", "--set", "weight=0"],
    "guide into it": ["guide", "--program", "FILE", "--out", "RUN", "--set", "model.blocks=3"],
    "train into it": ["train", "compiled", "--out", "RUN", "--program", "FILE"],
    "train a source into it": ["train", "addition", "--out", "RUN"],
}


@pytest.mark.parametrize("kind", ["forged", "forged_network"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_executes_a_program_that_a_run_names(name, kind, program, ran, tmp_path, request, failing):
    places = {"RUN": request.getfixturevalue(kind), "NEW": tmp_path / "new", "FILE": program}
    assert not ran.exists()
    if name == "audit":  # which looks at checkpoints, and finds none
        main(["audit", str(places["RUN"])])
    else:
        failing(*(places.get(one, one) for one in COMMANDS[name]))
    assert not ran.exists()
    assert not (tmp_path / "new").exists()


def test_the_remedy_is_named(forged, program, failing, tmp_path):
    for command in (("explain", forged), ("guide", "--teacher", forged, "--out", tmp_path / "new")):
        assert f"files run only if named; look at it and give --program {forged / 'program.py'}" in failing(
            *command
        )
        assert "is not the file that" in failing(*command, "--program", program)
        assert "there is no file" in failing(*command, "--program", tmp_path / "none.py")


def test_a_run_that_does_not_keep_its_program_is_refused(forged, program, failing, ran):
    (forged / "program.py").unlink()
    assert "does not keep the file that it was made with, program.py" in failing(
        "explain", forged, "--program", program
    )
    assert not ran.exists()


def test_a_built_in_program_needs_no_name_and_takes_no_other(teacher, failing, tmp_path):
    run = shutil.copytree(teacher, tmp_path / "run")
    rewrite(run, "roman", "program")
    line = failing("guide", "--teacher", run, "--program", "english", "--out", tmp_path / "new")
    assert "was made with roman, not with english; leave out --program" in line
    assert check_named(run / "program.py", "roman", None, option="--program") == "roman"


def test_another_entry_of_the_same_file_is_another_program(program, tmp_path):
    kept = Path(shutil.copy(program, tmp_path / "program.py"))
    assert check_named(kept, "old.py:predict", program, option="--program") == f"{program}:predict"
    with pytest.raises(RunMismatch, match=r"was made with 'predict' of .*, not with 'task'; name that"):
        check_named(kept, "old.py:predict", f"{program}:task", option="--program")


def test_a_teacher_works_from_any_folder_once_its_program_is_named(
    program, teacher, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copy(program, folder / "mine.py")
    shutil.copytree(teacher, folder / "teacher")
    monkeypatch.chdir(folder)
    small = ["--set", "training.steps=2", "model.blocks=3"]
    assert main(["guide", "--teacher", "teacher", "--program", "mine.py", "--out", "new", *small]) == 0
    assert (folder / "new" / "program.py").read_bytes() == Path(program).read_bytes()
    again = read_compiled(Path("teacher"), program="mine.py:predict")
    assert again.taught.compiled.graph.names == ("STAGE", "PARITY", "EVEN", "ODD", "END")
