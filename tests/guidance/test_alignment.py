"""Guidance against its formula; its controls; its complaints."""

import pytest
import torch

from quantascope.guidance.alignment import (
    Guidance,
    event_updates,
    level_scale,
    level_sums,
    linear_cka,
    semi_orthogonal,
)
from quantascope.models import Transformer, TransformerConfig
from quantascope.qmodel import CompiledConfig, CompiledQModel
from quantascope.quanta.graph import Edge, QGraph
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

EVENTS = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2], [1, 8, 2]], outputs=[[5, 3], [5, 9, 3], [4, 3]])


@pytest.fixture
def levels() -> torch.Tensor:
    return torch.randn(EVENTS.count, 3, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def updates() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return [torch.randn(EVENTS.count, 6, generator=draw) for _ in range(4)]


@pytest.mark.parametrize("mapping", [None, (0, 3, 1), (2, 2, 0)])
def test_the_alignment_is_the_formula(levels, updates, mapping):
    guidance = Guidance.of(levels, blocks=4, width=6, level_to_block=mapping, weight=0.5, seed=7)
    u = semi_orthogonal(6, 4, seed=7)
    assigned = mapping or (0, 1, 2)
    total, count = 0.0, 0
    for event in range(EVENTS.count):
        for block in sorted(set(assigned)):
            z = sum(levels[event, level] for level in range(3) if assigned[level] == block)
            total += float((u.T @ updates[block][event] - z).square().sum())
            count += 1
    assert guidance.alignment(updates).item() == pytest.approx(0.5 * total / count, rel=1e-5)


def test_the_map_preserves_lengths_and_is_the_identity_for_equal_widths():
    wide, narrow = semi_orthogonal(9, 4, seed=0), semi_orthogonal(4, 9, seed=0)
    torch.testing.assert_close(wide.T @ wide, torch.eye(4))
    torch.testing.assert_close(narrow @ narrow.T, torch.eye(4))
    assert torch.equal(semi_orthogonal(5, 5, seed=0), torch.eye(5))
    assert not torch.equal(wide, semi_orthogonal(9, 4, seed=1))


@pytest.mark.parametrize(
    ("blocks", "mapping", "says"),
    [
        (2, None, "3 levels cannot guide 2 blocks one to one; assign each level to a block"),
        (4, (0, 1), "give one block from 0 to 3 for each of the 3 levels"),
        (4, (0, 1, 4), "give one block from 0 to 3"),
    ],
)
def test_levels_without_a_block_are_refused(levels, blocks, mapping, says):
    with pytest.raises(InvalidConfig, match=says):
        Guidance.of(levels, blocks=blocks, width=6, level_to_block=mapping)


def test_other_events_or_too_few_blocks_are_refused(levels, updates):
    guidance = Guidance.of(levels, blocks=4, width=6)
    with pytest.raises(InvalidConfig, match="updates at 6 events, but targets for 7"):
        guidance.alignment([update[:-1] for update in updates])
    with pytest.raises(InvalidConfig, match="block 2 is guided, but there are 2 blocks"):
        guidance.alignment(updates[:2])


def test_updates_are_taken_at_the_predicting_tokens():
    model = Transformer(vocabulary=12, positions=10, config=TransformerConfig(blocks=3, width=8), seed=0)
    whole = [update[EVENTS.event_rows] for update in model.run(EVENTS).updates]
    for execution in (model.run(EVENTS), model.run(EVENTS, predictions_only=True)):
        for found, expected in zip(event_updates(execution, EVENTS), whole, strict=True):
            torch.testing.assert_close(found, expected)


def test_controls_move_every_target_and_lose_none(levels):
    guidance = Guidance.of(levels, blocks=4, width=6)
    depth = guidance.shuffled_over_depth(seed=0).target
    moved = [next(i for i in range(3) if torch.equal(depth[:, d], guidance.target[:, i])) for d in range(3)]
    assert sorted(moved) == [0, 1, 2]
    assert all(source != d for d, source in enumerate(moved))
    events = guidance.shuffled_over_events(seed=0).target
    source = [next(i for i in range(7) if torch.equal(events[e], guidance.target[i])) for e in range(7)]
    assert sorted(source) == list(range(7))
    assert all(one != e for e, one in enumerate(source))


def test_a_control_within_words_stays_within_words(levels):
    guidance = Guidance.of(levels, blocks=4, width=6)
    words = EVENTS.target
    shuffled = guidance.shuffled_over_events(seed=0, groups=words).target
    for event in range(7):
        source = next(i for i in range(7) if torch.equal(shuffled[event], guidance.target[i]))
        assert words[source] == words[event]
        assert source != event or int((words == words[event]).sum()) == 1


def test_windows_compare_sums_of_neighbouring_blocks():
    levels = torch.randn(7, 4, 3)
    updates = [torch.randn(7, 3) for _ in range(4)]
    found = Guidance.of(levels, blocks=4, width=3, window=2).alignment(updates)
    error = torch.stack(updates, 1) - levels
    expected = (error[:, 1:] + error[:, :-1]).square().sum(-1).mean()
    torch.testing.assert_close(found, expected)
    with pytest.raises(InvalidConfig, match="a window of 5 does not fit into 4 guided blocks"):
        Guidance.of(levels, blocks=4, width=3, window=5)


def test_levels_are_brought_to_length_over_events(levels):
    brought = levels * level_scale(levels, 5.0)
    torch.testing.assert_close(brought.square().sum(-1).mean(0).sqrt(), torch.full((3,), 5.0))


def test_a_control_that_moves_nothing_is_refused(levels):
    one = Guidance.of(levels, blocks=1, width=levels.shape[-1], level_to_block=[0] * levels.shape[1])
    with pytest.raises(InvalidConfig, match="guide at least two"):
        one.shuffled_over_depth(seed=0)
    with pytest.raises(InvalidConfig, match="give larger groups"):
        one.shuffled_over_events(seed=0, groups=torch.arange(len(levels)))


def test_updates_of_another_width_are_refused(levels):
    guidance = Guidance.of(levels, blocks=levels.shape[1], width=levels.shape[-1])
    with pytest.raises(InvalidConfig, match=r"give Guidance\.of"):
        guidance.alignment([torch.zeros(len(levels), 1)] * levels.shape[1])


def test_guidance_follows_a_loop_of_another_dtype(levels):
    guidance = Guidance.of(levels, blocks=levels.shape[1], width=levels.shape[-1]).to(torch.float64)
    updates = list(levels.double().unbind(1))
    assert float(guidance.alignment(updates)) == 0


def test_events_of_another_task_are_refused():
    graph = QGraph(("READ", "SAY"), (Edge(0, 1),), emitters=(1,))
    model = CompiledQModel(graph=graph, vocabulary=6, positions=4, config=CompiledConfig(width=8), seed=0)
    with pytest.raises(InvalidConfig, match="give events of its own task"):
        level_sums(model, Events.of(prompts=[[1, 9, 2]], outputs=[[3]]))


def test_cka_is_that_of_centred_gram_matrices():
    draw = torch.Generator().manual_seed(0)
    first, second = torch.randn(30, 4, generator=draw), torch.randn(30, 6, generator=draw)
    centre = torch.eye(30) - 1 / 30
    grams = [centre @ one @ one.T @ centre for one in (first, second)]
    expected = (grams[0] * grams[1]).sum() / (grams[0].norm() * grams[1].norm())
    assert linear_cka(first, second) == pytest.approx(float(expected), rel=1e-5)
