"""The semantics claim: on tables whose answer is known, and from a small source to its figure."""

from pathlib import Path

import polars as pl
import pytest

from quantascope.claims import semantics
from quantascope.claims.claim import Reproduction
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import read_paper
from quantascope.claims.semantics import Explained, ExplainedSource, Semantics, explained_source, measure

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def config(models):
    one_source = models.model_copy(update={"seeds": (0,), "distilled_fit_seeds": (0,)})
    return Semantics(models=one_source, calibration="priority", test="causal", permutations=2)


def explained(f1: list[float | None], constant: list[float], tells: list[bool], zeros: list[float]) -> Explained:
    """The same units as quanta and as writers."""
    both = [(kind, row) for kind in ("quantum", "writer") for row in zip(f1, constant, tells, strict=True)]
    names = pl.DataFrame(
        [
            {
                "kind": kind,
                "unit": "u",
                "description": "d",
                "f1": score,
                "constant": None if score is None else always,
                "permuted": None if score is None else always / 2,
                "gain": None if score is None else score - always,
                "tells": says,
            }
            for kind, (score, always, says) in both
        ],
        schema_overrides={"f1": pl.Float64, "constant": pl.Float64, "permuted": pl.Float64, "gain": pl.Float64},
    )
    found = [
        {"kind": kind, "says": f"{which} place {place}", "f1": value, "constant": 0.1, "low": value, "high": value}
        for kind in ("quantum", "writer")
        for which in (semantics.PRESENT, semantics.PASSED)
        for place, value in enumerate(zeros)
    ]
    return Explained(names, pl.DataFrame(found))


def test_figures_count_what_the_tables_hold(config):
    one = explained([0.9, 0.75, 0.5, None], [0.4, 0.76, 0.1, 0.0], [True, False, True, False], [0.25, 0.12])
    source = ExplainedSource(one, {"faithful": [one, one], "distilled": [one]})
    figures = measure(config, {"a": source, "b": source})
    expected = {
        "median_f1_quanta": 0.75,
        "quanta_above_0_7": 2,
        "quanta_above_0_7_telling": 1,
        "quanta_above_0_7_always": 1,
        "writers_above_0_7": 2,
        "share_above_0_7_writers": 200 / 3,
        "share_telling_writers": 200 / 3,
        "writers_constant": 1,
        "median_always_writers": 0.4,
        "median_shuffled_writers": 0.2,
        "median_gain_writers": 0.4,
        "zero_writer_f1_lowest": 0.12,
        "zero_writer_f1_highest": 0.25,
        "zero_writer_always_highest": 0.1,
        "factors_median_f1_quanta": 0.75,
        "distilled_writers_above_0_7": 2,
    }
    for key, value in expected.items():
        assert figures[key].mean == pytest.approx(value), key
        assert len(figures[key].values) == 2
    assert len(figures["median_f1_quanta_fit_seeds"].values) == 2
    assert "factors_median_f1_writers" not in figures


def test_every_figure_that_the_paper_states_is_measured(config, evidence):
    stated = {figure.figure for figure in read_paper(RESULTS) if figure.claim == "semantics"}
    assert stated <= set(measure(config, evidence))
    assert len(stated) == 6


@pytest.fixture(scope="module")
def evidence(config, runs_folder):
    return {
        label: explained_source(job, runs_folder / label) for label, job in semantics.CLAIM.runs(config).items()
    }


def test_names_are_made_once_and_kept(config, evidence, runs_folder):
    [(label, job)] = semantics.CLAIM.runs(config).items()
    path = runs_folder / label
    kept = sorted(file.name for file in path.glob("*.parquet"))
    assert len(kept) == 2 * (1 + 2 + 1)
    before = [(path / name).stat().st_mtime_ns for name in kept]
    again = explained_source(job, path)
    assert [(path / name).stat().st_mtime_ns for name in kept] == before
    assert again.factors.names.equals(evidence[label].factors.names)


def test_the_figure_is_drawn(config, evidence, tmp_path, drawn):
    result = Result.of("semantics", "quick", config, CLAIMS["semantics"].measure(config, evidence), {})
    figure = drawn(Reproduction(result, config, evidence, tmp_path))
    assert [axes.get_title(loc="left")[:8] for axes in figure.axes] == ["$\\bf{(a)", "$\\bf{(b)", "$\\bf{(c)"]
