"""Draws in the order of the released code, against that order written out with torch and numpy."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.acquisition.learner import HSPLearner, batches_of
from quantascope.models import MLPConfig, TaskMLP
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp import AuthorsBatches, ComposedFamily, authors_panel, build_forest

FAMILY = ComposedFamily(tasks=8, shared=2, pool=8, distractors=4, rank_seed=3, support_seed=5, draws="paper")
FOREST = build_forest(FAMILY)


def outputs_of(signs):
    return FOREST.outputs(signs.numpy() == -1)


def test_a_pool_that_is_too_small_is_refused():
    with pytest.raises(InvalidConfig, match="8 supports of degree 1 do not fit into 6 sensors, which have 6"):
        build_forest(FAMILY.model_copy(update={"pool": 6}))


def test_tasks_that_share_a_parity_stand_side_by_side_and_read_two_pools():
    assert FOREST.parent.tolist() == [-1, -1, 0, 0, 0, 0, 1, 1, 1, 1]
    shared = list(itertools.combinations(range(8), 3))
    chosen = np.random.default_rng(5).choice(len(shared), 2, replace=False)
    assert FOREST.support[:2] == tuple(shared[one] for one in chosen)
    assert all(8 <= sensor < 16 for support in FOREST.support[2:] for sensor in support)
    assert FOREST.sensors == 20


def test_ranks_are_dealt_by_a_permutation_of_the_tasks():
    frequency = np.arange(1, 9) ** -0.75
    dealt = np.empty(8)
    dealt[np.random.default_rng(3).permutation(8)] = frequency / frequency.sum()
    np.testing.assert_allclose(FOREST.task_probability, dealt)


def test_batches_are_one_stream_of_tasks_and_bits_with_the_tasks_own_labels():
    batches, generator = AuthorsBatches(FOREST, batch_size=32, seed=7), torch.Generator().manual_seed(7)
    for step in range(3):
        probability = torch.tensor(FOREST.task_probability, dtype=torch.float32)
        task = torch.multinomial(probability, 32, replacement=True, generator=generator)
        signs = 2.0 * torch.randint(0, 2, (32, 20), generator=generator) - 1
        batch = batches(step)
        assert torch.equal(batch.task, task)
        assert torch.equal(batch.signs, signs)
        label = outputs_of(signs)[np.arange(32), FOREST.tasks[task.numpy()]]
        assert batch.target.tolist() == np.where(label, 1.0, -1.0).tolist()
    assert torch.equal(AuthorsBatches(FOREST, batch_size=32, seed=7)(2).signs, batches(2).signs)


def test_the_panel_is_balanced_on_the_authors_bits():
    panel, generator = authors_panel(FOREST, inputs=32, seed=10), torch.Generator().manual_seed(10)
    drawn = 2.0 * torch.randint(0, 2, (8, 32, 20), generator=generator) - 1
    for task, node in enumerate(FOREST.tasks.tolist()):
        read = [*FOREST.support[FOREST.parent[node]], *FOREST.support[node]]
        others = [sensor for sensor in range(20) if sensor not in read]
        assert torch.equal(panel.signs[task][:, others], drawn[task][:, others])
        for row in (0, 5, 31):
            expected = [1.0 if row >> bit & 1 else -1.0 for bit in range(4)]
            assert panel.signs[task][row, read].tolist() == expected
        label = outputs_of(panel.signs[task])[:, node]
        assert panel.target[task].tolist() == np.where(label, 1.0, -1.0).tolist()


def test_weights_are_those_of_the_authors_modules():
    model = TaskMLP(sensors=6, tasks=3, config=MLPConfig(width=5, initialization="paper"), seed=4)
    torch.manual_seed(4)
    embedding, first, second, last = nn.Embedding(3, 5), nn.Linear(6, 5), nn.Linear(5, 5), nn.Linear(5, 2)
    for own in (embedding.weight, first.weight, first.bias):
        nn.init.uniform_(own, -1 / math.sqrt(9), 1 / math.sqrt(9))
    named = model.state_dict()
    signs, task = torch.randn(7, 6).sign(), torch.arange(7) % 3
    expected = last(second((embedding(task) + first(signs)).relu()).relu())
    torch.testing.assert_close(model(signs, task), expected)
    assert torch.equal(named["weight.2"], last.weight)


def test_a_learner_of_the_paper_s_draws_uses_them():
    learner = HSPLearner(family=FAMILY, batch_size=16, data_seed=1, draws="paper", panel_inputs=32)
    assert torch.equal(
        batches_of(learner, torch.device("cpu"))(3).signs, AuthorsBatches(FOREST, batch_size=16, seed=1)(3).signs
    )
    assert torch.equal(learner.panel().signs, authors_panel(FOREST, inputs=32, seed=10_000).signs)
    assert HSPLearner().hash() != learner.hash()


@pytest.mark.parametrize("config", [HSPLearner(), HSPLearner(family=ComposedFamily())])
def test_settings_of_draws_are_left_out_where_they_are_ours(config):
    assert "draws" not in str(config.model_dump(mode="json"))
