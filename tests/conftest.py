import importlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import pytest
import torch
from hypothesis import settings

from quantascope.discovery.discover import discover
from quantascope.models import TransformerConfig
from quantascope.program import CompiledProgram
from quantascope.programs import BUILT_IN
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.qmodel.recovered.fit import RecoveredRun, fit_config, fit_run
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig, train_source
from quantascope.training import OptimizerConfig

# The cores are shared: a slow moment of the machine is no failure of a test.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
torch.set_num_threads(1)


def import_programs() -> None:
    """Import the programs that come with quantascope as a user does: type checks make their quanta slow."""
    finders = sys.meta_path[:]
    sys.meta_path[:] = [finder for finder in finders if not type(finder).__module__.startswith("jaxtyping")]
    for name in BUILT_IN:
        importlib.import_module(f"quantascope.programs.{name}")
    sys.meta_path[:] = finders


import_programs()


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


@pytest.fixture(scope="session")
def compiled() -> Callable[[str], CompiledProgram]:
    """Programs that come with quantascope; a process compiles each once, for all who ask."""
    return lambda name: program_task(name).compiled


@contextmanager
def _threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quantascope.cli.compute.open_engine", lambda *_, **__: ThreadPoolExecutor(1))
        yield


@pytest.fixture(scope="session")
def threads() -> Callable[[], AbstractContextManager[None]]:
    """`with threads():` commands use a thread, as starting processes takes longer than what they would do."""
    return _threads


@pytest.fixture
def threaded(threads) -> Iterator[None]:
    """The same for a whole test."""
    with threads():
        yield
