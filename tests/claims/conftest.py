"""Tiny sources and fits that the claims about recovery share: those that are found again are not made again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.figures import draw_claim
from quantascope.claims.recovered_models import RecoveredModels
from quantascope.qmodel.recovered.config import FIT_PRESETS, Pool
from quantascope.report.figures.style import house_style

SHORT = {"updates": 8, "parts": 6, "threshold": 0.02}


@pytest.fixture(scope="session")
def models(tiny_config) -> RecoveredModels:
    """Two sources, each with Q-models of both presets after a few updates."""
    return RecoveredModels(
        source=tiny_config,
        seeds=(0, 1),
        fit_seeds=(0, 1),
        distilled_fit_seeds=(0, 1),
        faithful=FIT_PRESETS["faithful"].model_copy(update=SHORT),
        distilled=FIT_PRESETS["distilled"].model_copy(update={**SHORT, "pool": Pool(numbers=12, inputs=6)}),
    )


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory) -> Path:
    """Where the runs of all these claims are kept."""
    return tmp_path_factory.mktemp("claims")


def points_in(axes: Axes) -> np.ndarray:
    """The finite points that lines, points, bars and images of a panel show within its limits."""
    lines = [line.get_transform().transform(line.get_xydata()) for line in axes.lines if len(line.get_xydata())]
    dots = [one.get_offset_transform().transform(one.get_offsets()) for one in axes.collections]
    bars = [one.get_transform().transform(one.get_path().vertices) for one in axes.patches]
    images = [
        axes.transAxes.transform([[0.5, 0.5]]) for image in axes.images if np.isfinite(image.get_array()).any()
    ]
    found = np.concatenate([np.ma.filled(one, np.nan).reshape(-1, 2) for one in (*lines, *dots, *bars, *images)])
    box = axes.get_window_extent()
    with np.errstate(invalid="ignore"):
        return found[((found >= box.min - 1) & (found <= box.max + 1)).all(1)]


@pytest.fixture(scope="session")
def drawn() -> Callable[[Reproduction], Figure]:
    """The figure of a reproduction, every panel of which has a title or a label, and shows something."""

    def draw(reproduction: Reproduction) -> Figure:
        with house_style():
            figure = draw_claim(reproduction)
            figure.canvas.draw()
        assert figure.axes
        for axes in figure.axes:
            assert any((axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()))
            assert len(points_in(axes)) > 0, axes.get_title(loc="left")
        return figure

    return draw
