"""A quick version of `benchmarks/kills.py`, and what the docs say of kills is what is committed."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_command_that_is_killed_at_renames_resumes_to_the_same_bytes(tmp_path):
    # In a process of its own: it forks, which a process that has used polars must not.
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "kills.py"),
        "--quick",
        "--json",
        str(tmp_path / "counts"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads((tmp_path / "counts").read_text())
    assert counts == {"train hsp": {"at syncs and renames": 3, "at random moments": 0, "of workers": 0, "lost": 0}}


def test_the_page_tells_the_kills_that_are_counted_in_the_file():
    counts = json.loads((ROOT / "results" / "benchmarks" / "kills.json").read_text())
    lost = sum(count["lost"] for count in counts.values())
    kills = sum(sum(count.values()) for count in counts.values()) - lost
    assert f"{kills} kills of {len(counts)} commands" in (ROOT / "docs" / "runs.md").read_text()
    assert lost == 0
