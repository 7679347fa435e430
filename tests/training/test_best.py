"""The best of several evaluations, in one training, after a resumption, and in a history made by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.runs.config import Config
from quantascope.runs.run_directory import RunDirectory
from quantascope.training import History
from quantascope.training.best import BestCheckpoint, best_step, chosen_checkpoint


class Nothing(Config):
    """A run without settings."""


def evaluated(run, model, values):
    """Evaluate a model whose only weight counts the evaluations, with these scores in turn."""
    scores = iter(values)
    best = BestCheckpoint(run, lambda model: dict(zip(("exact", "tokens"), next(scores), strict=True)))
    for number, expected in enumerate(values):
        nn.init.constant_(model.weight, float(number))
        found = best(model)
        assert {name: float(value) for name, value in found.items()} == {
            "exact": expected[0],
            "tokens": expected[1],
        }
    return best


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([(0.1, 0.9), (0.8, 0.2), (0.7, 0.9)], 1),
        ([(0.8, 0.2), (0.8, 0.3), (0.8, 0.3)], 1),
        ([(0.5, 0.5), (0.5, 0.5)], 0),
        ([(0.1, 0.1), (0.2, 0.0), (0.3, 0.0)], 2),
    ],
)
def test_the_first_of_the_best_evaluations_is_kept(tmp_path, values, kept):
    run, model = RunDirectory.open(tmp_path / "run", Nothing()), nn.Linear(1, 1, bias=False)
    evaluated(run, model, values).restore(model)
    assert float(model.weight.detach()) == kept
    exact, tokens = np.array(values).T
    history = History(np.arange(len(values)) * 20, np.zeros(len(values)), {"exact": exact, "tokens": tokens})
    assert best_step(history, ("exact", "tokens")) == 20 * kept
    assert chosen_checkpoint(history, ("exact", "tokens"), {"p": 0.5}) == {"p_last": 0.5, "best_step": 20 * kept}


def test_a_resumed_training_keeps_the_best_checkpoint_of_before(tmp_path):
    run, model = RunDirectory.open(tmp_path / "run", Nothing()), nn.Linear(1, 1, bias=False)
    evaluated(run, model, [(0.2, 0.0), (0.9, 0.0)])
    again = evaluated(run, model, [(0.3, 0.0), (0.9, 0.0)])  # the last evaluation is repeated, as its update is
    again.restore(model)
    assert torch.equal(model.weight, torch.ones(1, 1))
