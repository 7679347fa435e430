"""What the docs say of kills is what is committed."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_tells_the_kills_that_are_counted_in_the_file():
    counts = json.loads((ROOT / "results" / "benchmarks" / "kills.json").read_text())
    lost = sum(count["lost"] for count in counts.values())
    kills = sum(sum(count.values()) for count in counts.values()) - lost
    assert f"{kills} kills of {len(counts)} commands" in (ROOT / "docs" / "runs.md").read_text()
    assert lost == 0
