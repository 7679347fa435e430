"""Figures of committed results are drawn again from the results alone."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("redraw", ROOT / "docs" / "redraw.py")
redraw = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(redraw)


def test_a_figure_of_figures_is_drawn_from_the_result_and_names_what_it_shows(tmp_path):
    picture = redraw.redraw(ROOT / "results" / "real-spelling-full.json", tmp_path)
    drawn = picture.with_suffix(".svg").read_text(encoding="utf-8")
    assert picture.read_bytes().startswith(b"\x89PNG")
    for shown in ("ΣP/ΔL, gradient rule", "supports like the next seed's (MCC)", "5 %, by chance"):
        assert f">{shown}<" in drawn


def test_a_figure_of_curves_asks_for_the_runs(tmp_path):
    with pytest.raises(redraw.NeedsRuns):
        redraw.redraw(ROOT / "results" / "flat-acquisition-full.json", tmp_path)
    assert not list(tmp_path.iterdir())
