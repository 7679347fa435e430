import numpy as np
import pytest
import torch
from hypothesis import settings

from quantascope.discovery.discover import discover
from quantascope.models import TransformerConfig
from quantascope.qmodel.recovered.fit import RecoveredRun, fit_config, fit_run
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig, train_source
from quantascope.training import OptimizerConfig

# The cores are shared: a slow moment of the machine is no failure of a test.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
torch.set_num_threads(1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def tiny_config() -> SourceConfig:
    """A source of number naming that trains in seconds."""
    return SourceConfig(
        model=TransformerConfig(blocks=2, width=8, hidden=16),
        steps=24,
        optimizer=OptimizerConfig(name="sgd", learning_rate=0.1),
        intervals=6,
        replays=3,
    )


@pytest.fixture(scope="session")
def tiny_source(tiny_config, tmp_path_factory) -> Source:
    """That source with its factors; tests that change its files copy the folder first."""
    source = train_source(tiny_config, tmp_path_factory.mktemp("tiny") / "source")
    discover(source, threshold=0.02).save()
    return source


@pytest.fixture(scope="session")
def tiny_fit(tiny_source) -> RecoveredRun:
    """Its faithful Q-model after a few updates."""
    return fit_run(tiny_source, fit_config(tiny_source, "faithful", {"updates": 12, "parts": 4}))
