import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp import ComposedFamily, Forest, Panel, balanced_panel, build_forest, random_panel
from quantascope.theory import nand_probability


def read_by(forest: Forest, node: int) -> list[int]:
    return sorted({sensor for above in forest.path(node) for sensor in forest.support[above]})


def assert_columns_follow_from_the_signs(forest: Forest, panel: Panel) -> None:
    """Targets and characters, recomputed from the signs of each task."""
    for row, node in enumerate(forest.tasks.tolist()):
        signs = panel.signs[row].numpy()
        assert panel.target[row].tolist() == (2.0 * forest.outputs(signs == -1)[:, node] - 1).tolist()
        path = forest.path(node)
        products = [signs[:, list(forest.support[above])].prod(axis=1) for above in path]
        assert panel.characters[row, : len(path)].tolist() == np.array(products).tolist()
        assert not panel.characters[row, len(path) :].any()
    assert panel.characters.shape[1] == forest.depth[forest.tasks].max() + 1


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(1, 6), sensors=st.sampled_from([6, 64, 66, 130]))
def test_a_balanced_panel_runs_through_what_each_task_reads_equally_often(grow_forest, seed, nodes, sensors):
    forest = grow_forest(seed, nodes=nodes, sensors=sensors, degree=2)
    inputs = 2 * 2 ** max(len(read_by(forest, node)) for node in forest.tasks.tolist())
    panel = balanced_panel(forest, inputs=inputs, seed=seed)
    assert panel.signs.shape == (len(forest.tasks), inputs, sensors)
    assert set(panel.signs.unique().tolist()) == {-1.0, 1.0}
    for row, node in enumerate(forest.tasks.tolist()):
        read = read_by(forest, node)
        assignments, counts = np.unique(panel.signs[row][:, read].numpy(), axis=0, return_counts=True)
        assert len(assignments) == 2 ** len(read)
        assert set(counts.tolist()) == {inputs // 2 ** len(read)}
        assert panel.characters[row].mean(1).tolist() == [0.0] * panel.characters.shape[1]
        assert panel.target[row].double().mean().item() == 2 * nand_probability(int(forest.depth[node])) - 1
    assert_columns_follow_from_the_signs(forest, panel)


def test_on_a_balanced_panel_the_characters_of_a_path_are_uncorrelated():
    panel = balanced_panel(build_forest(ComposedFamily()), inputs=64, seed=0)
    assert not (panel.characters[:, 0] * panel.characters[:, 1]).mean(1).any()


def test_what_a_task_does_not_read_is_random_on_its_balanced_panel():
    forest = build_forest(ComposedFamily())
    panel = balanced_panel(forest, inputs=256, seed=0)
    distractors = panel.signs[:, :, 64:].reshape(-1, 32)
    assert distractors.mean(0).abs().max() < 5 / np.sqrt(len(distractors))
    assert not torch.equal(panel.signs[0, :, 64:], panel.signs[1, :, 64:])


def test_a_panel_that_cannot_balance_every_task_is_refused_with_the_number_that_would_do():
    forest = Forest(
        parent=np.array([-1, 0, 1]), support=((0, 1), (2, 3), (4,)), query=np.full(3, 1 / 3), sensors=8
    )
    message = "task 2 reads 5 sensors, so a balanced panel needs a multiple of 32 inputs per task, not {};"
    for inputs in (16, 24, 33, 48):
        with pytest.raises(InvalidConfig, match=message.format(inputs)):
            balanced_panel(forest, inputs=inputs, seed=0)
    assert balanced_panel(forest, inputs=32, seed=0).target.shape == (3, 32)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(1, 12), sensors=st.sampled_from([7, 64, 100]))
def test_a_random_panel_asks_every_task_about_the_same_draws(grow_forest, seed, nodes, sensors):
    forest = grow_forest(seed, nodes=nodes, sensors=sensors)
    panel = random_panel(forest, inputs=50, seed=seed)
    assert panel.signs.shape == (len(forest.tasks), 50, sensors)
    assert all(torch.equal(signs, panel.signs[0]) for signs in panel.signs)
    assert_columns_follow_from_the_signs(forest, panel)


@pytest.mark.parametrize("make", [balanced_panel, random_panel])
def test_a_panel_is_a_function_of_its_seed(make):
    forest = build_forest(ComposedFamily())
    one, again, other = (make(forest, inputs=32, seed=seed).signs for seed in (4, 4, 5))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
