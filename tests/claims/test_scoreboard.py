"""The verdict rule by hand, and the integrity of the committed results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quantascope.claims import NAMES
from quantascope.claims.mechanism import mechanism
from quantascope.claims.more_seeds import is_part
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Estimate, Result
from quantascope.claims.scoreboard import (
    ClaimEntry,
    PaperFigure,
    Protocol,
    Row,
    as_markdown,
    read_entries,
    read_paper,
    read_results,
    scoreboard,
    standings,
    standings_markdown,
    totals,
    totals_markdown,
)
from quantascope.runs.artefact import write_record
from quantascope.runs.errors import DamagedArtefact

RESULTS = Path(__file__).parents[2] / "results"
FIGURE = PaperFigure(
    claim="c", figure="f", paper=1.0, printed="1.00", unit="", runs=1, place="Sec. 1", says="a number"
)


def estimate(*values: float) -> Estimate:
    return Estimate.over_runs("a number", values)


def row(
    ours: Estimate | None,
    protocol: Protocol | None = "paper's protocol over seeds",
    run: Estimate | None = None,
    **stated: Any,
) -> Row:
    return Row("c", "f", replace(FIGURE, **stated), ours, protocol, run)


def test_a_run_of_the_paper_s_own_is_exact_if_it_has_the_printed_digits():
    assert row(estimate(1.005), "paper's run", estimate(1.005)).verdict == "exact"
    assert row(estimate(1.0051), "paper's run", estimate(1.0051)).verdict == "outside"


def test_the_paper_s_number_must_lie_within_the_range_of_several_runs_of_its_protocol():
    ours = estimate(0.9, 1.2, 1.3)
    assert row(ours).verdict == "within the spread"
    assert row(ours, paper=0.895).verdict == "within the spread"
    assert row(ours, paper=0.894).verdict == "outside"
    assert row(ours, paper=1.306).verdict == "outside"
    assert row(estimate(1.0, 1.004, 0.996)).verdict == "exact"


@pytest.mark.parametrize("protocol", ["smaller protocol", "our protocol"])
def test_another_protocol_has_a_value_and_no_verdict(protocol):
    assert row(estimate(1.0), protocol).verdict == "no verdict"
    assert row(estimate(5.0, 6.0), protocol, estimate(1.0)).verdict == "exact"
    assert row(estimate(5.0, 6.0), protocol, estimate(1.2)).verdict == "outside"
    assert row(estimate(0.9, 1.1), protocol, estimate(1.2)).verdict == "outside"
    assert row(estimate(1.0), protocol, runs=0).verdict == "exact"


def test_a_run_that_misses_may_lie_in_the_spread_of_its_protocol():
    assert row(estimate(0.9, 1.1), run=estimate(1.2)).verdict == "within the spread"


def test_a_figure_that_no_run_defines_is_outside():
    assert row(estimate(float("nan"))).verdict == "outside"


def test_a_figure_that_no_run_was_asked_for_is_not_run():
    assert row(estimate()).verdict == row(None, None).verdict == "not run"
    assert row(None, None, reach=False).verdict == "out of reach"


def test_law_prediction_and_measurement_stand_side_by_side():
    figures = {
        "target_0_20": estimate(0.2),
        "exponent_0_20": estimate(0.1, 0.2, 0.3),
        "predicted_0_20": estimate(0.15, 0.16, 0.17),
        "exponent_by_count_0_20": estimate(0.4),
    }
    rows = [Row("c", key, None, value, "smaller protocol") for key, value in figures.items()]
    (found,) = mechanism(rows)
    assert (found.level, found.target.mean, found.predicted.mean, found.measured.mean) == pytest.approx(
        ("0_20", 0.2, 0.16, 0.2)
    )
    # ± 4.303 × 0.1/√3 and 4.303 × 0.01/√3.
    assert found.cells() == ["c", "0.2", "0.16 [0.1352, 0.1848]", "0.2 [-0.04841, 0.4484]"]


def test_counts_are_printed_with_commas_and_rounded_to_the_unit():
    assert replace(FIGURE, printed="13,700").rounding == 0.5
    assert replace(FIGURE, printed="84.7%").rounding == pytest.approx(0.05)


def test_the_paper_file_is_complete_typed_and_without_repetition():
    figures = read_paper(RESULTS)
    assert len(figures) >= 260
    assert len({(f.claim, f.figure) for f in figures}) == len(figures)
    for figure in figures:
        assert float(figure.printed.replace(",", "").rstrip("%")) == figure.paper, figure
        assert figure.place, figure
        assert figure.says, figure
        assert figure.runs >= 0, figure


def test_every_figure_of_the_paper_that_a_claim_covers_is_in_its_committed_result():
    results = read_results(RESULTS)
    for figure in read_paper(RESULTS):
        presets = results.get(figure.claim, {}).values()
        assert not (presets and figure.reach) or any(figure.figure in result.figures for result in presets), figure


def test_every_claim_is_described_and_names_a_page():
    entries = read_entries(RESULTS)
    assert list(entries) == list(NAMES)
    for entry in entries.values():
        assert entry.says
        assert (RESULTS.parent / entry.page).is_file()


@pytest.mark.parametrize("key", ["full", "run"])
def test_an_unknown_protocol_of_a_claim_is_refused(key, tmp_path):
    (tmp_path / "paper.toml").write_text(f'[claim.c]\nsays = "s"\npage = "p"\n{key} = "some"\n')
    with pytest.raises(DamagedArtefact, match=rf"c\.{key}: Input should be .*smaller protocol"):
        read_entries(tmp_path)


def test_committed_results_belong_to_the_presets_of_this_version():
    for result in (one for presets in read_results(RESULTS).values() for one in presets.values()):
        preset = CLAIMS[result.claim].presets[result.preset]
        wanted = json.loads(preset.model_dump_json())
        parts = CLAIMS[result.claim].summary is not None
        assert result.config == wanted or (parts and is_part(result.config, wanted)), result.claim
        assert not result.made_with["commit"].endswith("changed"), result.claim


def write_result(folder: Path, preset: str, values: list[float]) -> None:
    result = Result("c", preset, {}, {"f": Estimate.over_runs("f", values), "g": estimate(2.0)}, {})
    result.save(folder / f"c-{preset}.json")


@pytest.fixture
def results(tmp_path) -> Path:
    entry = '[[figure]]\nclaim = "c"\nfigure = "{}"\npaper = 1\nprinted = "1.0"\nunit = ""\nruns = 1\n'
    (tmp_path / "paper.toml").write_text(
        "".join(entry.format(name) + 'place = "p"\nsays = "s"\n' for name in ("f", "h"))
    )
    return tmp_path


def test_rows_join_the_paper_with_its_own_run_and_with_runs_over_seeds(results):
    write_result(results, "quick", [5.0, 6.0, 7.0, 8.0])
    write_result(results, "paper", [1.02])
    write_result(results, "full", [1.1, 1.2, 1.3])
    rows = {row.figure: row for row in scoreboard(results)}
    f, h, g = (rows[name].to_json() for name in "fhg")
    assert (f["run"], f["ours"], f["seeds"], f["preset"]) == (1.02, pytest.approx(1.2), 3, "full")
    assert (f["protocol"], f["verdict"]) == ("paper's protocol over seeds", "exact")
    assert f["low"] < 1.2 < f["high"]
    assert f["command"] == "quantascope reproduce c --preset full"
    assert (h["ours"], h["preset"], h["verdict"]) == (None, None, "not run")
    assert (g["paper"], g["verdict"]) == (None, "new")


def test_a_quick_result_alone_has_no_verdict(results):
    write_result(results, "quick", [1.0])
    rows = {row.figure: row for row in scoreboard(results)}
    assert (rows["f"].protocol, rows["f"].verdict) == ("smaller protocol", "no verdict")


def test_a_run_by_released_defaults_is_no_run_of_the_paper_s(results):
    paper = results / "paper.toml"
    paper.write_text(
        '[claim.c]\nsays = "s"\npage = "p"\nfull = "our protocol"\nrun = "released defaults"\n' + paper.read_text()
    )
    write_result(results, "paper", [1.0])
    (alone, *_) = scoreboard(results)
    assert (alone.figure, alone.protocol, alone.run, alone.verdict) == (
        "f",
        "released defaults",
        None,
        "no verdict",
    )
    write_result(results, "full", [1.0, 1.1])
    (beside, *_) = scoreboard(results)
    assert (beside.protocol, beside.run, beside.verdict) == ("our protocol", None, "no verdict")


def test_a_figure_is_compared_on_the_paper_s_panel_where_it_was_measured_there(results):
    paper = results / "paper.toml"
    paper.write_text(paper.read_text().replace('says = "s"', 'panel = "own"\nsays = "s"', 1))
    Result("c", "full", {}, {"f": estimate(5.0), "f_own": estimate(1.0)}, {}).save(results / "c-full.json")
    rows = {row.figure: row for row in scoreboard(results)}
    assert (rows["f"].estimate.mean, rows["f"].verdict, rows["f"].to_json()["panel"]) == (1.0, "exact", "own")


def test_the_markdown_table_has_a_line_for_each_row(results):
    write_result(results, "full", [1.0, 1.1, 0.9])
    lines = as_markdown(scoreboard(results)).splitlines()
    assert len(lines) == 2 + 3
    # t = 4.303 with two degrees of freedom: ± 4.303 × 0.1/√3 for the mean.
    shown = "1 |  | 1 | 0.7516 … 1.248 | 0.9 … 1.1 | 3 | paper's protocol over seeds |  | within the spread"
    assert lines[2] == f"| c | f | {shown} |"


def test_a_claim_stands_as_its_figures_do(results):
    write_result(results, "full", [1.0, 1.1, 0.9])
    (found,) = standings(scoreboard(results), read_entries(results))
    assert found.stated == 2
    assert found.cells() == ["2", "", "1", "", "", "", "1", "1"]
    assert totals([found, found]).verdicts["not run"] == 2
    assert standings_markdown([found]).splitlines()[-1] == "| all | | 2 | 1 | 1 | 1 |"


def test_parts_of_the_paper_add_up_their_claims(results):
    write_result(results, "full", [1.0, 1.1, 0.9])
    (found,) = standings(scoreboard(results), read_entries(results))
    one, other = (replace(found, claim=name, entry=ClaimEntry("", f"{name}.md", "It holds")) for name in "ab")
    alone = replace(found, entry=ClaimEntry("A claim without a part", ""))
    assert totals_markdown([one, alone, other]).splitlines()[2:] == [
        "| It holds: [a](a.md), [b](b.md) | 4 | 2 | 2 | 2 |",
        "| A claim without a part: c | 2 | 1 | 1 | 1 |",
        "| all | 6 | 3 | 3 | 3 |",
    ]


def test_runs_that_do_not_define_a_figure_are_counted():
    assert estimate(1.0, float("nan"), 3.0).runs == "2 of 3"


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"claim": "c"}'])
def test_a_file_that_is_no_result_is_named(results, content):
    (results / "c-full.json").write_text(content)
    with pytest.raises(DamagedArtefact, match=r"c-full\.json"):
        scoreboard(results)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("values", None, r"figures\.f\.values"),
        ("values", "1.0", r"figures\.f\.values"),
        ("values", [1.0, "2.0"], r"figures\.f\.values\.1"),
        ("values", [1.0, True], r"figures\.f\.values\.1"),
        ("values", [7.0], "mean and interval of 'f' do not fit its values"),
        ("mean", "1.0", r"figures\.f\.mean"),
        ("mean", {}, r"figures\.f\.mean"),
        ("mean", None, "mean and interval of 'f' do not fit its values"),
        ("low", 1e30, "mean and interval of 'f' do not fit its values"),
        ("bootstrap", [1.0], r"figures\.f\.bootstrap"),
        ("undefined", -1, "mean and interval of 'f' do not fit its values"),
        ("undefined", 0.5, r"figures\.f\.undefined"),
        ("unit", 3, r"figures\.f\.unit"),
        ("more", 3, r"figures\.f\.more"),
    ],
)
def test_a_resealed_figure_of_other_types_is_refused_by_name(results, key, value, says):
    write_result(results, "full", [1.0, 2.0, 3.0])
    found = Result.load(results / "c-full.json").to_json()
    found["figures"]["f"][key] = value
    write_record(results / "c-full.json", found, made_by=found["hash"])
    with pytest.raises(DamagedArtefact, match=rf"c-full\.json.*{says}.*; restore it") as told:
        scoreboard(results)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [("claim", ["c"]), ("preset", None), ("figures", [1]), ("config", 3), ("made_with", {"a": 1})],
)
def test_a_resealed_result_of_other_types_is_refused_by_name(results, key, value):
    write_result(results, "full", [1.0])
    found = Result.load(results / "c-full.json").to_json()
    write_record(results / "c-full.json", found | {key: value}, made_by=found["hash"])
    with pytest.raises(DamagedArtefact, match=rf"c-full\.json is not a result of quantascope \({key}"):
        scoreboard(results)


def test_a_result_that_is_read_is_the_one_that_was_saved(tmp_path):
    for values in ([1.0, 2.0, 3.5], [0.1], [float("nan")], []):
        result = Result("c", "full", {"a": [1]}, {"f": Estimate.over_runs("f", values)}, {"commit": "x"})
        result.save(tmp_path / "c.json")
        assert Result.load(tmp_path / "c.json") == result


def test_a_folder_without_the_papers_figures_is_named(tmp_path):
    with pytest.raises(DamagedArtefact, match=r"paper\.toml is missing; leave out --results, or name a folder"):
        scoreboard(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"figure = 3", b"figure = [1]", b'claim = "c"\n[[figure]]\nclaim = "c"', b"[[figure]\n"],
)
def test_a_list_that_is_none_is_refused_in_one_line(results, content):
    (results / "paper.toml").write_bytes(content)
    with pytest.raises(DamagedArtefact, match=r"paper\.toml is not the list of the paper's figures") as told:
        scoreboard(results)
    assert "\n" not in str(told.value)
