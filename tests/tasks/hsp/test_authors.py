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
from quantascope.tasks.hsp import (
    AuthorsBatches,
    ComposedFamily,
    DepthMass,
    FlatFamily,
    RegularFamily,
    authors_panel,
    authors_shared_panel,
    build_forest,
)

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


TREES = RegularFamily(roots=3, depth=2, pool=12, even=True, demand=DepthMass(decay=0.5, rank_seed=2))


def test_trees_have_frequencies_by_rank_of_the_root_and_mass_of_the_depth():
    forest = build_forest(TREES)
    ranked = np.arange(1, 4) ** -0.5
    share = np.empty(3)
    share[np.random.default_rng(2).permutation(3)] = ranked / ranked.sum()
    for node in range(len(forest.parent)):
        depth = int(forest.depth[node])
        root = forest.path(node)[0]
        mass = 2.0**depth / (1 + 2 + 4)
        assert forest.query[node] == pytest.approx(share[root] * mass / 2**depth)
    child = forest.parent >= 0
    np.testing.assert_allclose(forest.query[child] / forest.query[forest.parent[child]], 1 / (2 * 0.5))


def test_supports_of_trees_are_the_first_fresh_and_independent_pairs_of_one_stream():
    forest, generator, used = build_forest(TREES), np.random.default_rng(0), set()
    for node in range(len(forest.parent)):
        above = [set(forest.support[one]) for one in forest.path(node)[:-1]]
        while True:
            pair = tuple(sorted(generator.choice(12, size=2, replace=False).tolist()))
            # Two pairs above depend with a third if they share a sensor and it joins their other two.
            dependent = len(above) == 2 and above[0] ^ above[1] == set(pair)
            if pair not in used and not dependent:
                break
        assert forest.support[node] == pair
        used.add(pair)


@pytest.mark.parametrize("family", [TREES, FlatFamily(tasks=5, pool=6, distractors=2, draws="paper")])
def test_a_parity_of_the_released_code_is_true_for_a_positive_product_of_signs(family):
    forest, generator = build_forest(family), torch.Generator().manual_seed(3)
    signs = (2.0 * torch.randint(0, 2, (40, forest.sensors), generator=generator) - 1).numpy()
    state = np.empty((40, len(forest.parent)))
    for node, above in enumerate(forest.parent):
        own = signs[:, forest.support[node]].prod(1)
        both = (state[:, above] > 0) & (own > 0) if above >= 0 else own < 0
        state[:, node] = np.where(both, -1.0, 1.0)
    np.testing.assert_array_equal(forest.outputs(signs == -1), state > 0)
    panel = authors_shared_panel(forest, inputs=40, seed=3)
    np.testing.assert_array_equal(panel.signs[2].numpy(), signs)
    np.testing.assert_array_equal(panel.target.numpy().T, state)


def test_a_batch_in_parts_draws_tasks_and_bits_of_each_part_in_turn():
    forest, generator = build_forest(TREES), torch.Generator().manual_seed(7)
    batches = AuthorsBatches(forest, batch_size=10, seed=7, at_once=4)
    probability = torch.tensor(forest.task_probability, dtype=torch.float32)
    for step in range(2):
        batch = batches(step)
        for first, size in ((0, 4), (4, 4), (8, 2)):
            task = torch.multinomial(probability, size, replacement=True, generator=generator)
            signs = 2.0 * torch.randint(0, 2, (size, 12), generator=generator) - 1
            assert torch.equal(batch.task[first : first + size], task)
            assert torch.equal(batch.signs[first : first + size], signs)


def test_the_supports_of_flat_tasks_are_of_one_role():
    forest = build_forest(FlatFamily(tasks=5, pool=6, distractors=2, support_seed=4, draws="paper"))
    every = list(itertools.combinations(range(6), 2))
    chosen = np.random.default_rng(4).choice(len(every), 5, replace=False)
    assert forest.support == tuple(every[one] for one in chosen)
    assert forest.sensors == 8


def test_parts_of_our_own_draws_are_refused():
    with pytest.raises(InvalidConfig, match="drawn_at_once=4 has no effect on our draws"):
        HSPLearner().replace({"drawn_at_once": 4})


def test_a_learner_of_the_paper_s_draws_uses_them():
    learner = HSPLearner(family=FAMILY, batch_size=16, data_seed=1, draws="paper", panel_inputs=32)
    assert torch.equal(
        batches_of(learner, torch.device("cpu"))(3).signs, AuthorsBatches(FOREST, batch_size=16, seed=1)(3).signs
    )
    assert torch.equal(learner.panel().signs, authors_panel(FOREST, inputs=32, seed=10_000).signs)
    assert HSPLearner().hash() != learner.hash()
    trees = learner.replace({"drawn_at_once": 5}).model_copy(update={"family": TREES})
    part = AuthorsBatches(trees.forest, batch_size=16, seed=1, at_once=5)
    assert torch.equal(batches_of(trees, torch.device("cpu"))(1).signs, part(1).signs)
    assert torch.equal(trees.panel().signs, authors_shared_panel(trees.forest, inputs=32, seed=10_000).signs)


@pytest.mark.parametrize(
    "config", [HSPLearner(), HSPLearner(family=ComposedFamily()), HSPLearner(family=RegularFamily())]
)
def test_settings_of_draws_are_left_out_where_they_are_ours(config):
    shown = str(config.model_dump(mode="json"))
    assert not any(key in shown for key in ("draws", "drawn_at_once", "even"))
