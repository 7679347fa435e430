"""A small source that learned something, shared by the tests of the field."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from quantascope.models import Transformer, TransformerConfig
from quantascope.sources.losses import ModuleLosses
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import POSITIONS, VOCABULARY, naming_events
from quantascope.training import Recorder, Trajectory


@dataclass(frozen=True, eq=False)
class Learned:
    """A trajectory with what it takes to measure it."""

    trajectory: Trajectory
    losses: ModuleLosses
    events: Events
    folder: Path


def _learn(folder: Path, optimizer: str, rate: float, *, steps: int = 60, every: int = 10) -> Learned:
    """A two-block Transformer on twelve numbers."""
    config = TransformerConfig(blocks=2, width=8, hidden=16)
    model = Transformer(vocabulary=len(VOCABULARY), positions=POSITIONS, config=config, seed=3)
    events = naming_events([1, 4, 13, 20, 58, 100, 346, 800, 999, 1001, 3002, 42_017])
    losses = ModuleLosses(model)
    recorder = Recorder(model, folder, steps=every)
    update = getattr(torch.optim, optimizer)(model.parameters(), rate)
    for _ in range(steps):
        update.zero_grad()
        losses(dict(model.named_parameters()), events).mean().backward()
        update.step()
        recorder.step(rate)
    return Learned(Trajectory.open(folder), losses, events, folder)


@pytest.fixture
def learn():
    return _learn


@pytest.fixture(scope="session")
def sgd(tmp_path_factory) -> Learned:
    return _learn(tmp_path_factory.mktemp("sgd"), "SGD", 0.05)


@pytest.fixture(scope="session")
def adam(tmp_path_factory) -> Learned:
    return _learn(tmp_path_factory.mktemp("adam"), "Adam", 0.02)
