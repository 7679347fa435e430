"""The first-order estimate against training itself."""

import numpy as np
import pytest
import torch

from quantascope.discovery.transfer.kernel import estimated_effects, first_order_effects
from quantascope.sources.retraining import Retrainable
from quantascope.training import OptimizerConfig, TrainingConfig


def losses_of(parameters, batch):
    hidden = torch.tanh(batch @ parameters["0.weight"].T)
    return (hidden @ parameters["2.weight"].T).squeeze(1).sub(1).square()


def network():
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4, bias=False), torch.nn.Tanh(), torch.nn.Linear(4, 1, bias=False)
    return torch.nn.Sequential(*layers)


def test_the_effect_of_one_step_is_that_of_finite_differences(rng):
    at = {name: value.detach().double() for name, value in network().named_parameters()}
    batch, weights = torch.from_numpy(rng.normal(size=(7, 3))), rng.uniform(0.5, 2, (2, 7))
    found = first_order_effects(losses_of, at, batch, list(weights))

    def after(own, rate):
        leaves = {name: value.clone().requires_grad_() for name, value in at.items()}
        loss = (torch.from_numpy(own) * losses_of(leaves, batch)).mean()
        gradient = torch.autograd.grad(loss, list(leaves.values()))
        moved = {name: at[name] - rate * one for name, one in zip(at, gradient, strict=True)}
        return losses_of(moved, batch).numpy()

    rate = 1e-5
    for own, effect in zip(weights, found, strict=True):
        ahead, behind = (after(np.ones(7), step) - after(own, step) for step in (rate, -rate))
        assert effect == pytest.approx((ahead - behind) / (2 * rate), rel=1e-5, abs=1e-8)


def test_small_changes_over_short_training_are_estimated_almost_exactly(tmp_path, rng):
    batch = torch.from_numpy(rng.normal(size=(6, 3)).astype(np.float32))
    retrainable = Retrainable(
        identity="tiny",
        build=network,
        losses=lambda model, batch: model(batch).squeeze(1).sub(1).square(),
        event_losses=losses_of,
        examples=batch,
        training=TrainingConfig(
            steps=10, evaluate_every=1, optimizer=OptimizerConfig(name="sgd", learning_rate=0.002)
        ),
    )
    weights = np.array([1.5, 1.5, 1.0, 1.0, 0.5, 0.5])
    base = retrainable.retrain(np.ones(6), tmp_path / "base", checkpoints=tuple(range(11)))
    changed = retrainable.retrain(weights, tmp_path / "changed")
    effects = (base.losses - changed.losses).mean(1)
    found = estimated_effects(retrainable.trajectory(tmp_path / "base"), losses_of, batch, [weights])
    assert found[0] == pytest.approx(effects, rel=0.05, abs=1e-5)
