"""The verdict rule by hand, and the integrity of the committed results."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Estimate, Result
from quantascope.claims.scoreboard import (
    PaperFigure,
    Row,
    as_markdown,
    mechanism,
    mechanism_markdown,
    read_paper,
    read_results,
    scoreboard,
)
from quantascope.runs.errors import DamagedArtefact

RESULTS = Path(__file__).parents[2] / "results"
FIGURE = PaperFigure(
    claim="c", figure="f", paper=1.0, printed="1.00", unit="", runs=1, place="Sec. 1", says="a number"
)


def estimate(*values: float) -> Estimate:
    return Estimate.over_runs("a number", values)


def verdict(figure: PaperFigure, ours: Estimate) -> str:
    return Row(figure.claim, figure.figure, figure, None, ours).verdict


def test_a_single_run_must_agree_to_the_printed_rounding():
    assert verdict(FIGURE, estimate(1.005)) == "reproduced"
    assert verdict(FIGURE, estimate(1.0051)) == "differs"


def test_the_papers_number_must_lie_within_the_range_of_several_runs():
    ours = estimate(0.9, 1.2, 1.3)
    assert verdict(FIGURE, ours) == "reproduced"
    assert verdict(replace(FIGURE, paper=0.895), ours) == "reproduced"
    assert verdict(replace(FIGURE, paper=0.894), ours) == "differs"
    assert verdict(replace(FIGURE, paper=1.306), ours) == "differs"


def test_a_figure_that_no_run_defines_differs():
    assert verdict(FIGURE, estimate(float("nan"))) == "differs"


def test_a_figure_that_no_run_was_asked_for_is_not_run():
    assert verdict(FIGURE, estimate()) == "not run"


def test_law_prediction_and_measurement_stand_side_by_side():
    figures = {
        "target_0_20": estimate(0.2),
        "exponent_0_20": estimate(0.1, 0.2, 0.3),
        "predicted_0_20": estimate(0.15, 0.16, 0.17),
        "exponent_by_count_0_20": estimate(0.4),
    }
    rows = [Row("c", key, None, None, value) for key, value in figures.items()]
    (found,) = mechanism(rows)
    assert (found.level, found.target.mean, found.predicted.mean, found.measured.mean) == pytest.approx(
        ("0_20", 0.2, 0.16, 0.2)
    )
    # ± 4.303 × 0.1/√3 and 4.303 × 0.01/√3.
    assert (
        mechanism_markdown(rows).splitlines()[-1] == "| c | 0.2 | 0.16 [0.1352, 0.1848] | 0.2 [-0.04841, 0.4484] |"
    )


def test_the_docs_show_the_exponents_of_the_committed_results():
    page = (RESULTS.parent / "docs" / "scaling.md").read_text()
    assert mechanism_markdown(scoreboard(RESULTS)) in page


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
        if figure.claim in results:
            assert figure.figure in results[figure.claim].figures, figure


def test_committed_results_belong_to_the_presets_of_this_version():
    for result in read_results(RESULTS).values():
        preset = CLAIMS[result.claim].presets[result.preset]
        assert result.config == json.loads(preset.model_dump_json()), result.claim
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


def test_rows_join_the_paper_with_the_result_of_most_runs_that_is_not_quick(results):
    write_result(results, "quick", [5.0, 6.0, 7.0, 8.0])
    write_result(results, "paper", [1.0])
    write_result(results, "full", [1.0, 1.1, 0.9])
    rows = {row.figure: row for row in scoreboard(results)}
    f, h, g = (rows[name].to_json() for name in "fhg")
    assert (f["ours"], f["seeds"], f["preset"], f["verdict"]) == (pytest.approx(1.0), 3, "full", "reproduced")
    assert f["low"] < 1.0 < f["high"]
    assert f["command"] == "quantascope reproduce c --preset full"
    assert (h["ours"], h["preset"], h["verdict"]) == (None, None, "not run")
    assert (g["paper"], g["verdict"]) == (None, "new")


def test_the_markdown_table_has_a_line_for_each_row(results):
    write_result(results, "full", [1.0, 1.1, 0.9])
    lines = as_markdown(scoreboard(results)).splitlines()
    assert len(lines) == 2 + 3
    # t = 4.303 with two degrees of freedom: ± 4.303 × 0.1/√3 for the mean.
    assert lines[2] == "| c | f | 1 | 1 | 0.7516 … 1.248 | 0.9 … 1.1 | 3 | reproduced |"


def test_runs_that_do_not_define_a_figure_are_counted():
    assert estimate(1.0, float("nan"), 3.0).runs == "2 of 3"


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"claim": "c"}'])
def test_a_file_that_is_no_result_is_named(results, content):
    (results / "c-full.json").write_text(content)
    with pytest.raises(DamagedArtefact, match=r"c-full\.json"):
        scoreboard(results)


def test_a_folder_without_the_papers_figures_is_named(tmp_path):
    with pytest.raises(DamagedArtefact, match=r"paper\.toml"):
        scoreboard(tmp_path)
