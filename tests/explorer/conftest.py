"""The shared tiny source as the explorer shows it, a tiny compiled program, and a tiny forest."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quantascope.acquisition.learner import HSPLearner, learn
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.explorer.request import Request
from quantascope.explorer.values import finite
from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled
from quantascope.tasks.hsp import RegularFamily
from quantascope.training import TrainingConfig

Get = Callable[..., Any]


def _getter(explorer: Explorer) -> Get:
    """`get("runs/0/trace", input="346")`, as the page receives it."""
    return lambda path, **parameters: finite(
        explorer.answer(Request(path, {name.rstrip("_"): str(value) for name, value in parameters.items()}))
    )


@pytest.fixture(scope="session")
def getter() -> Callable[[Explorer], Get]:
    return _getter


@pytest.fixture(scope="session")
def run(tiny_fit, tmp_path_factory) -> Path:
    """The folder of the tiny source with its factors and Q-model, for tests that do not change it."""
    return shutil.copytree(tiny_fit.source.folder, tmp_path_factory.mktemp("explored") / "tiny")


@pytest.fixture(scope="session")
def explorer(run) -> Explorer:
    return Explorer(open_runs([str(run)]), "quantascope explore tiny")


@pytest.fixture(scope="session")
def get(explorer) -> Get:
    return _getter(explorer)


@pytest.fixture(scope="session")
def compiled_run(tmp_path_factory) -> Path:
    """A Q-model of Roman numerals that has hardly learned."""
    folder = tmp_path_factory.mktemp("compiled") / "roman"
    learner = CompiledLearner().replace({"program": "roman", "training.steps": 2, "trained_on": "training_100"})
    learn_compiled(learner, folder)
    return folder


@pytest.fixture(scope="session")
def forest_run(tmp_path_factory) -> Path:
    """A network that learned seven tasks for a moment."""
    folder = tmp_path_factory.mktemp("forest") / "forest"
    family = RegularFamily(roots=1, depth=2, pool=8)
    learn(HSPLearner(family=family, training=TrainingConfig(steps=60, evaluate_every=10), batch_size=64), folder)
    return folder
