"""Numbers of claims and benchmarks in the documentation are those of the committed results."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("quote", ROOT / "docs" / "quote.py")
assert _spec
assert _spec.loader
quote = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(quote)


@pytest.mark.parametrize("page", quote.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_says_what_the_committed_results_say(page):
    text = page.read_text(encoding="utf-8")
    assert quote.quoted(text, page) == text, "run python docs/quote.py"
    assert not [line for line in text.splitlines() if line.lstrip().startswith("<!--=")], "ends its paragraph"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two runs of one claim, of which one does not define a figure, and a benchmark."""
    figures = {
        "speed": {"says": "speed", "unit": "km/h", "values": [10.25, 12.25], "undefined": 1}
        | {"mean": 11.25, "low": -1.4562, "high": 23.9562},
        "slow_speed": {"says": "speed", "unit": "", "values": [4.0], "undefined": 0}
        | {"mean": 4.0, "low": None, "high": None},
    }
    (tmp_path / "walks-full.json").write_text(json.dumps({"figures": figures}))
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "time.json").write_text(
        json.dumps({"one way": {"seconds": 0.01234}, "runs": [2, 3]})
    )
    (tmp_path / "paper.toml").write_text(
        '[[figure]]\nclaim = "walks"\nfigure = "speed"\npaper = -11.2\nprinted = "-11.2"\n'
        'unit = "km/h"\nruns = 1\nplace = "Table 1"\nsays = "speed"\n'
    )
    monkeypatch.setattr(quote, "RESULTS", tmp_path)
    quote.read_stated.cache_clear()
    yield tmp_path / "walks.md"
    quote.read_stated.cache_clear()


def test_a_figure_is_written_behind_its_name(results):
    page = (
        "It is <!--= speed -->old<!--/-->, <!--= speed range --><!--/-->, "
        "<!--= benchmarks/time:one way/seconds -->?<!--/-->, <!--= benchmarks/time:runs --><!--/-->. "
        "The paper has <!--= speed paper --><!--/-->."
    )
    assert quote.quoted(page, results) == (
        "It is <!--= speed -->11.2 [−1.5, 24.0]<!--/-->, <!--= speed range -->10.2 to 12.2<!--/-->, "
        "<!--= benchmarks/time:one way/seconds -->0.012<!--/-->, <!--= benchmarks/time:runs -->2.50<!--/-->. "
        "The paper has <!--= speed paper -->−11.2<!--/-->."
    )


def test_a_table_stands_beside_the_paper_and_a_grid_beside_itself(results):
    head = "| <!-- {row} --> | paper | here | runs |\n|---|---:|---:|---:|\n"
    table = head + "| <!-- speed --> how fast | 1 | 2 | 3 |\n"
    assert quote.quoted(table, results) == table.replace("1 | 2 | 3", "−11.2 | 11.2 [−1.5, 24.0] | 2 of 3")
    alone = table.replace("paper | here | runs", "here | runs").replace("1 | 2 | 3", "2 | 3")
    assert quote.quoted(alone, results) == alone.replace("2 | 3", "11.2 [−1.5, 24.0] | 2 of 3")
    head = (
        "| <!-- {column}{row} --> | <!-- --> fast | <!-- slow_ --> slow | <!-- no_ --> no |\n|---|---:|---:|---:|"
    )
    grid = head + "\n| <!-- speed --> speed | | | |\n"
    assert quote.quoted(grid, results) == grid.replace("| | | |", "| 11.2 [−1.5, 24.0] | 4 |  |")


def test_a_claim_without_a_result_says_so_and_a_wrong_name_is_an_error(results):
    page = "<!-- figures -->\n<!-- /figures -->"
    assert quote.UNPUBLISHED in quote.quoted(page, results.with_name("runs.md"))
    assert "| speed, km/h | −11.2 | 11.2 [−1.5, 24.0] | 2 of 3 |" in quote.quoted(page, results)
    with pytest.raises(SystemExit, match="not there"):
        quote.quoted("<!--= sped --><!--/-->", results)
    with pytest.raises(SystemExit, match="does not state"):
        quote.quoted("<!--= slow_speed paper --><!--/-->", results)
