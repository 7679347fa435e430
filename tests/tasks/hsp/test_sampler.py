import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quantascope.tasks.hsp import (
    Batch,
    ComposedFamily,
    FlatFamily,
    Forest,
    FreshBatches,
    PackedTasks,
    build_forest,
)


def bits_of(signs: torch.Tensor) -> np.ndarray:
    return signs.numpy() == -1


def expected_target(forest: Forest, batch: Batch) -> np.ndarray:
    outputs = forest.outputs(bits_of(batch.signs))
    return np.where(outputs[np.arange(len(outputs)), forest.tasks[batch.task.numpy()]], 1.0, -1.0)


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def pack_by_hand(bits: np.ndarray, words: int) -> np.ndarray:
    numbers = [sum(1 << int(i) for i in np.flatnonzero(row)) for row in bits]
    split = [[number >> (64 * word) & (2**64 - 1) for word in range(words)] for number in numbers]
    return np.array(split, dtype=np.uint64)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    nodes=st.integers(1, 12),
    sensors=st.sampled_from([3, 8, 63, 64, 65, 100, 128, 130]),
)
def test_targets_equal_the_definition_on_the_same_bits(grow_forest, seed, nodes, sensors):
    forest = grow_forest(seed, nodes=nodes, sensors=sensors)
    batch = FreshBatches(forest, batch_size=64, seed=seed)(3)
    assert batch.signs.shape == (64, sensors)
    assert set(batch.signs.unique().tolist()) == {-1.0, 1.0}
    assert batch.target.tolist() == expected_target(forest, batch).tolist()


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), sensors=st.sampled_from([5, 64, 65, 100, 130]))
def test_packed_parities_labels_and_signs_equal_sums_over_single_bits(grow_forest, seed, sensors):
    forest = grow_forest(seed, nodes=10, sensors=sensors, degree=5)
    tasks = PackedTasks(forest)
    assert tasks.words == (sensors + 63) // 64
    rng = np.random.default_rng(seed)
    bits, task = rng.integers(0, 2, (40, sensors)), rng.integers(0, len(forest.tasks), 40)
    packed = pack_by_hand(bits, tasks.words)
    parities = tasks.parities(packed, task)
    labels = tasks.labels(parities, task)
    for row in range(40):
        path = forest.path(int(forest.tasks[task[row]]))
        by_hand = [bool(bits[row, list(forest.support[node])].sum() % 2) for node in path]
        assert parities[row].tolist() == by_hand + [False] * (tasks.levels - len(path))
    assert labels.tolist() == forest.outputs(bits.astype(bool))[np.arange(40), forest.tasks[task]].tolist()
    assert tasks.signs(packed).tolist() == (1 - 2 * bits).tolist()


def test_the_parity_of_a_support_that_spans_two_words_counts_both():
    forest = Forest(parent=np.array([-1]), support=((63, 64),), query=np.array([1.0]), sensors=65)
    bits = np.zeros((4, 65), dtype=np.int64)
    bits[1, 63] = bits[2, 64] = bits[3, 63] = bits[3, 64] = 1
    parities = PackedTasks(forest).parities(pack_by_hand(bits, 2), np.zeros(4, dtype=np.int64))
    assert parities[:, 0].tolist() == [False, True, True, False]


@pytest.mark.parametrize("batch_size", [300, 4096, 10_000])
def test_a_batch_depends_on_seed_and_step_and_not_on_the_order_of_access(batch_size):
    forest = build_forest(FlatFamily())
    in_order = FreshBatches(forest, batch_size=batch_size, seed=3)
    steps = [0, 1, 2, 3, 26, 27, 28, 29]
    batches = {step: in_order(step) for step in steps}
    other = FreshBatches(forest, batch_size=batch_size, seed=3)
    for step in np.random.default_rng(0).permutation(steps * 2).tolist():
        assert same(other(step), batches[step])
    assert all(len(batch.task) == batch_size for batch in batches.values())
    assert not any(same(batches[a], batches[b]) for a in steps for b in steps if a < b)


def test_different_seeds_give_different_batches():
    forest = build_forest(FlatFamily())
    first, second = (FreshBatches(forest, batch_size=64, seed=seed)(0) for seed in (0, 1))
    assert not torch.equal(first.signs, second.signs)
    assert not torch.equal(first.task, second.task)


def test_a_batch_is_numpys_sfc64_stream_read_as_uniforms_then_words():
    # Written out because saved runs resume from this stream: another reading of it would change them.
    forest = build_forest(ComposedFamily())
    batch = FreshBatches(forest, batch_size=2048, seed=11)(9)  # 4 steps a draw: the second of draw 2
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence([11, 2])))
    uniform = generator.random(8192)[2048:4096]
    words = generator.bit_generator.random_raw(2 * 8192).reshape(8192, 2)[2048:4096]
    bounds = np.cumsum(forest.query[4:])
    task = [next((t for t in range(31) if u < bounds[t]), 31) for u in uniform]
    assert batch.task.tolist() == task
    bits = [[int(row[sensor // 64]) >> (sensor % 64) & 1 for sensor in range(96)] for row in words[:50]]
    assert bits_of(batch.signs[:50]).astype(int).tolist() == bits


def test_task_frequencies_match_their_query_probabilities():
    forest = build_forest(ComposedFamily())
    batches = FreshBatches(forest, batch_size=8192, seed=5)
    seen = sum(np.bincount(batches(step).task.numpy(), minlength=32) for step in range(6))
    assert len(seen) == 32
    assert stats.chisquare(seen, seen.sum() * forest.query[4:]).pvalue > 1e-4


def test_a_single_task_is_always_the_one_asked():
    forest = Forest(parent=np.array([-1, 0]), support=((0,), (1,)), query=np.array([0.0, 1.0]), sensors=2)
    batch = FreshBatches(forest, batch_size=100, seed=0)(0)
    assert batch.task.tolist() == [0] * 100
    both = ((batch.signs[:, 0] == -1) & (batch.signs[:, 1] == -1)).numpy()
    assert batch.target.tolist() == np.where(both, -1.0, 1.0).tolist()


def test_bits_are_balanced_and_uncorrelated_with_each_other_and_with_the_task():
    forest = build_forest(FlatFamily())
    batch = FreshBatches(forest, batch_size=8192, seed=1)(0)
    signs = batch.signs.double()
    most = 5 / np.sqrt(8192)  # five standard errors
    assert signs.mean(0).abs().max() < most
    gram = signs.T @ signs / 8192 - torch.eye(64, dtype=torch.float64)
    assert gram.abs().max() < 1.2 * most  # of 2016 pairs
    rank = torch.from_numpy(stats.zscore(batch.task.numpy().astype(float)))
    assert (signs * rank[:, None]).mean(0).abs().max() < most


def test_the_learner_sees_signs_an_opaque_task_and_a_target_and_nothing_else():
    forest = build_forest(ComposedFamily())
    batch = FreshBatches(forest, batch_size=4096, seed=0)(0)
    assert batch._fields == ("signs", "task", "target")
    assert batch.signs.shape == (4096, 96)
    assert set(batch.task.tolist()) == set(range(32))  # positions in the list of tasks, not nodes 4 … 35
    assert set(batch.target.tolist()) == {-1.0, 1.0}
    assert batch.signs.dtype == batch.target.dtype == torch.float32
