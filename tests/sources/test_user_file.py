"""A run keeps the text of a user's file and its digest, so that it is known which of the two has changed."""

import pytest

from quantascope.runs.artefact import write_record
from quantascope.runs.config import Config
from quantascope.runs.errors import DamagedArtefact, QuantascopeError, RunMismatch
from quantascope.runs.files import file_digest
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.user_file import check_named, keep_file

TEXT = "answer = 42\n"


class Settings(Config):
    note: str = "a test"


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(TEXT)
    return file


@pytest.fixture
def run(tmp_path, file):
    run = RunDirectory.open(tmp_path / "run", Settings())
    keep_file(run, f"{file}:answer", "program.py")
    return run


def flip(path) -> None:
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


def both(run, file):
    """The complaints of a command that trains, and of one that reads, which must agree that something is wrong."""
    said = []
    for work in (
        lambda: keep_file(run, f"{file}:answer", "program.py"),
        lambda: check_named(run.path / "program.py", f"{file}:answer", str(file), option="--program"),
    ):
        with pytest.raises(QuantascopeError) as told:
            work()
        said.append(told.value)
    return said


def test_the_text_and_its_digest_are_kept_and_an_unchanged_file_is_accepted(run, file):
    assert (run.path / "program.py").read_text() == TEXT
    assert file_digest(file) in (run.path / "program.json").read_text()
    keep_file(run, f"{file}:answer", "program.py")
    named = check_named(run.path / "program.py", "old.py:answer", str(file), option="--program")
    assert named == f"{file}:answer"


def test_damage_of_the_kept_text_is_not_blamed_on_the_users_file(run, file):
    kept = run.path / "program.py"
    flip(kept)
    for error in both(run, file):
        assert isinstance(error, DamagedArtefact)
        assert str(error) == f"{kept} is damaged, and {file} is what {run.path} was made with; copy it to {kept}"
    kept.write_bytes(file.read_bytes())
    keep_file(run, f"{file}:answer", "program.py")


def test_a_changed_file_is_told_with_the_kept_text(run, file):
    file.write_text(TEXT + "# another\n")
    trained, read = both(run, file)
    kept = run.path / "program.py"
    assert f"{file} has changed since {run.path} was made with it; restore it from {kept}" in str(trained)
    assert f"{file} is not the file that {run.path} was made with; compare it with {kept}" in str(read)
    assert isinstance(trained, RunMismatch)


def test_if_both_have_changed_both_are_told(run, file):
    flip(run.path / "program.py")
    file.write_text("other = 1\n")
    for error in both(run, file):
        assert "is damaged, and" in str(error)
        assert "is not the file that" in str(error)


def test_a_kept_text_that_is_changed_is_not_executed_even_if_it_is_itself_named(run):
    kept = run.path / "program.py"
    flip(kept)
    with pytest.raises(QuantascopeError, match="is damaged"):
        check_named(kept, f"{kept}:answer", str(kept), option="--program")


def test_a_missing_text_is_kept_again_only_if_the_file_is_that_of_the_run(run, file):
    kept = run.path / "program.py"
    kept.unlink()
    with pytest.raises(RunMismatch, match="does not keep the file"):
        check_named(kept, f"{file}:answer", str(file), option="--program")
    keep_file(run, f"{file}:answer", "program.py")
    assert kept.read_text() == TEXT
    kept.unlink()
    file.write_text("other = 1\n")
    with pytest.raises(RunMismatch, match=r"does not keep the file .* program\.py; restore it"):
        keep_file(run, f"{file}:answer", "program.py")


def test_a_run_of_an_older_version_is_read_and_blames_neither(run, file):
    kept = run.path / "program.py"
    (run.path / "program.json").unlink()
    assert check_named(kept, f"{file}:answer", str(file), option="--program") == f"{file}:answer"
    flip(kept)
    for error in both(run, file):
        assert "too old to say which of them has changed" in str(error)


@pytest.mark.parametrize("value", [None, 3, ["a"]])
def test_a_record_without_a_digest_is_refused(run, file, value):
    write_record(run.path / "program.json", {"text": value}, made_by=run.hash)
    for error in both(run, file):
        assert "program.json does not hold the digest of program.py; restore it" in str(error)


def test_the_record_of_another_run_is_refused(run, file):
    write_record(run.path / "program.json", {"text": file_digest(file)}, made_by="another")
    for error in both(run, file):
        assert isinstance(error, RunMismatch)
