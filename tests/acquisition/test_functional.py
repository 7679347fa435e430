import math

import numpy as np
import pytest
import torch

from quantascope.acquisition import evaluate_panel, functional_coefficient, mode_fraction
from quantascope.models import MLPConfig, TaskMLP
from quantascope.tasks.hsp import (
    ComposedFamily,
    FlatFamily,
    Forest,
    RegularFamily,
    balanced_panel,
    build_forest,
    random_panel,
)


def row(*values: float) -> torch.Tensor:
    return torch.tensor([values])


NAND = row(1.0, 1.0, 1.0, -1.0)  # mean 1/2; centred 1/2, 1/2, 1/2, −3/2; variance 3/4


@pytest.mark.parametrize(
    ("prediction", "coefficient"),
    [
        (NAND, 1.0),
        (-NAND, -1.0),
        (row(0.5, 0.5, 0.5, 0.5), 0.0),  # knows the marginal and nothing else
        (row(1.0, 1.0, 1.0, 1.0), 0.0),
        (row(1.0, 0.0, 0.0, -1.0), 2 / 3),  # (1/2 + 3/2)/4 over 3/4
        (row(1.0, 1.0, 0.0, 0.0), 1 / 3),  # knows one input
        (0.25 * NAND + 0.7, 0.25),
    ],
)
def test_the_coefficient_is_the_slope_against_the_centred_target(prediction, coefficient):
    assert functional_coefficient(prediction, NAND).item() == pytest.approx(coefficient, abs=1e-6)


def test_coefficients_of_several_tasks_equal_numpys_regression_slopes():
    rng = np.random.default_rng(0)
    target, noise = np.where(rng.random((4, 500)) < 0.7, 1.0, -1.0), rng.normal(size=(4, 500))
    prediction = np.array([0.1, 0.5, 0.9, -0.3])[:, None] * target + 0.2 * noise
    found = functional_coefficient(torch.from_numpy(prediction), torch.from_numpy(target))
    slopes = [np.polyfit(y, m, 1)[0] for m, y in zip(prediction, target, strict=True)]
    np.testing.assert_allclose(found, slopes, rtol=1e-10)


def test_a_predictor_that_knows_the_private_input_alone_has_the_private_mode_and_no_shared_mode():
    panel = balanced_panel(build_forest(ComposedFamily()), inputs=64, seed=0)
    shared, private = panel.characters[:, 0], panel.characters[:, 1]
    # Private parity 0 (character +1): the NAND is true. Private parity 1: a fair coin, whose mean is 0.
    prediction = (1 + private) / 2
    fractions = mode_fraction(prediction, panel.target, panel.characters)
    assert fractions.tolist() == [[0.0, 1.0]] * 32
    np.testing.assert_allclose(functional_coefficient(prediction, panel.target), 1 / 3, rtol=1e-6)
    mirrored = mode_fraction((1 + shared) / 2, panel.target, panel.characters)
    assert mirrored.tolist() == [[1.0, 0.0]] * 32


def test_the_target_itself_has_every_mode_of_its_path_and_none_beyond():
    forest = build_forest(RegularFamily(roots=2, depth=2, degree=1, pool=14, distractors=0))
    panel = balanced_panel(forest, inputs=8, seed=0)
    on_path = np.arange(3)[None, :] <= forest.depth[forest.tasks][:, None]
    assert mode_fraction(panel.target, panel.target, panel.characters).tolist() == on_path.astype(float).tolist()
    half = mode_fraction(0.5 * panel.target, panel.target, panel.characters)
    assert half.tolist() == (0.5 * on_path).tolist()


def nand_network(scale: float) -> TaskMLP:
    """Margin scale·(x₀ + x₁ + 1) of the signs: 3, 1, 1 and −1 times scale, so right on all four inputs."""
    model = TaskMLP(sensors=2, tasks=1, config=MLPConfig(width=2, hidden_layers=1), seed=0)
    weights = {
        "embedding": torch.zeros(1, 2),
        "weight.0": torch.tensor([[1.0, 1.0], [-1.0, -1.0]]),
        "bias.0": torch.tensor([1.0, -1.0]),
        "weight.1": torch.tensor([[0.0, 0.0], [scale, -scale]]),
        "bias.1": torch.zeros(2),
    }
    model.load_state_dict(weights)
    return model


def nand_forest() -> Forest:
    return Forest(parent=np.array([-1, 0]), support=((0,), (1,)), query=np.array([0.0, 1.0]), sensors=2)


def test_a_network_set_by_hand_scores_as_computed_by_hand():
    scores = evaluate_panel(nand_network(2.0), balanced_panel(nand_forest(), inputs=4, seed=0))
    bits = (math.log1p(math.exp(-6)) + 3 * math.log1p(math.exp(-2))) / 4 / math.log(2)
    assert scores["loss"].item() == pytest.approx(bits, rel=1e-5)
    # m is tanh 3 once, tanh 1 twice and −tanh 1 once, weighted 1/2, 1/2, 1/2 and −3/2.
    coefficient = (0.5 * math.tanh(3) + 2 * 0.5 * math.tanh(1) + 1.5 * math.tanh(1)) / 4 / 0.75
    assert scores["coefficient"].item() == pytest.approx(coefficient, rel=1e-5)
    # Walsh coefficient of m on either input: (tanh 3 + tanh 1)/4, as the mixed inputs cancel; the target's is 1/2.
    mode = (math.tanh(3) + math.tanh(1)) / 4 / 0.5
    assert scores["modes"].tolist()[0] == pytest.approx([mode, mode], rel=1e-5)
    assert scores["exact"].tolist() == [True]


@pytest.mark.parametrize(("scale", "exact", "loss"), [(0.0, False, 1.0), (-1.0, False, None), (1e-3, True, None)])
def test_exact_means_a_margin_of_the_right_sign_on_every_input(scale, exact, loss):
    scores = evaluate_panel(nand_network(scale), balanced_panel(nand_forest(), inputs=4, seed=0))
    assert scores["exact"].tolist() == [exact]
    if loss is not None:  # a network that says nothing pays one bit and has no coefficient
        assert scores["loss"].item() == pytest.approx(loss)
        assert scores["coefficient"].item() == scores["modes"].abs().max().item() == 0


@pytest.mark.parametrize("inputs", [64, 200, 600])
def test_a_panel_larger_than_one_chunk_scores_as_if_evaluated_at_once(inputs):
    forest = build_forest(FlatFamily(tasks=11, pool=8, distractors=3))  # 704 to 6600 rows, chunks of at most 512
    panel = random_panel(forest, inputs=inputs, seed=0)
    model = TaskMLP(sensors=11, tasks=11, config=MLPConfig(width=16), seed=0)
    scores = evaluate_panel(model, panel)
    for task in range(11):
        logits = model(panel.signs[task], torch.full((inputs,), task)).detach().double()
        target = panel.target[task].double()
        loss = torch.nn.functional.cross_entropy(logits, (target > 0).long()).item() / math.log(2)
        prediction = 2 * logits.softmax(1)[:, 1] - 1
        character = panel.characters[task, 0].double()
        assert scores["loss"][task].item() == pytest.approx(loss, rel=1e-5)
        slope = np.polyfit(target.numpy(), prediction.numpy(), 1)[0]
        assert scores["coefficient"][task].item() == pytest.approx(slope, abs=1e-6)
        # A root's target is its parity bit as ±1: minus its character.
        assert scores["modes"][task, 0].item() == pytest.approx(-(prediction * character).mean().item(), abs=1e-6)
        assert scores["exact"][task].item() == ((logits[:, 1] > logits[:, 0]) == (target > 0)).all().item()
    assert len({round(loss, 6) for loss in scores["loss"].tolist()}) == 11
