"""The commit is that of our own checkout, and asking for it runs nothing else."""

import subprocess

from quantascope.runs.provenance import commit_of


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", folder, *arguments],
        check=True,
        capture_output=True,
    )


def test_a_repository_around_an_installed_package_is_not_asked(tmp_path):
    git(tmp_path, "init")
    package = tmp_path / "venv" / "lib" / "site-packages"
    (package / "src" / "quantascope").mkdir(parents=True)
    assert commit_of(package) == "unknown"
    assert commit_of(tmp_path) == "unknown"


def test_the_monitor_of_a_checkout_is_not_run(tmp_path):
    (tmp_path / "src" / "quantascope").mkdir(parents=True)
    (tmp_path / "src" / "quantascope" / "a.py").write_text("")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    monitor.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(monitor))
    assert len(commit_of(tmp_path)) == 40
    (tmp_path / "src" / "quantascope" / "a.py").write_text("1")
    assert commit_of(tmp_path).endswith("-changed")
    assert not (tmp_path / "ran").exists()
