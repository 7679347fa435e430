"""Tiny sources and fits that the claims about recovery share: those that are found again are not made again."""

from pathlib import Path

import pytest

from quantascope.claims.recovered_models import RecoveredModels
from quantascope.qmodel.recovered.fit import FIT_PRESETS, Pool

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
