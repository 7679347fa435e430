"""Events: where which token is predicted."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

TOKENS = st.lists(st.integers(0, 9), min_size=1, max_size=5)
EXAMPLES = st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=6)


@given(EXAMPLES)
def test_each_event_asks_for_the_token_that_follows_its_position(examples):
    prompts, outputs = zip(*examples, strict=True)
    events = Events.of(prompts, outputs)
    whole = [[*prompt, *output] for prompt, output in examples]
    assert events.count == sum(map(len, outputs))
    for example, position, target in zip(
        events.example.tolist(), events.position.tolist(), events.target.tolist(), strict=True
    ):
        assert whole[example][position + 1] == target
        assert events.tokens[example, : position + 1].tolist() == whole[example][: position + 1]


@given(EXAMPLES)
def test_rows_are_the_valid_tokens_and_event_rows_find_the_events_among_them(examples):
    events = Events.of(*zip(*examples, strict=True))
    read = [[*prompt, *output[:-1]] for prompt, output in examples]
    assert events.tokens.reshape(-1)[events.rows].tolist() == [token for row in read for token in row]
    assert events.length.tolist() == [len(row) for row in read]
    places = events.rows[events.event_rows]
    assert torch.equal(places // events.tokens.shape[1], events.example)
    assert torch.equal(places % events.tokens.shape[1], events.position)


@given(EXAMPLES, st.integers(0, 6), st.integers(0, 6))
def test_a_range_of_examples_has_the_events_of_these_examples(examples, start, stop):
    chosen = examples[start:stop]
    part = Events.of(*zip(*examples, strict=True))[start:stop]
    assert len(part) == len(chosen)
    if chosen:
        alone = Events.of(*zip(*chosen, strict=True))
        for field in ("tokens", "example", "position", "target", "length", "rows", "index"):
            assert torch.equal(getattr(part, field), getattr(alone, field))


def test_events_without_examples_or_outputs_are_refused():
    for prompts, outputs in (([], []), ([[1]], [[]]), ([[]], [[1]])):
        with pytest.raises(InvalidConfig, match="at least one example"):
            Events.of(prompts, outputs)


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=5), min_size=1, max_size=6))
def test_every_token_of_a_text_but_the_first_of_its_window_is_an_event(windows):
    events = Events.of_text(windows)
    assert events.target.tolist() == [token for window in windows for token in window[1:]]
    assert events.tokens.reshape(-1)[events.rows].tolist() == [
        token for window in windows for token in window[:-1]
    ]
    torch.testing.assert_close(events.event_rows, torch.arange(events.count))


def test_a_window_of_one_token_is_refused():
    with pytest.raises(InvalidConfig, match="a window of 1 tokens predicts nothing; give windows of 2 or more"):
        Events.of_text([[1, 2], [3]])


def test_events_go_to_a_device_with_all_that_they_hold():
    events = Events.of([[1, 2], [3]], [[4], [5, 6]])
    assert events.to("cpu") is events
    moved = events.to("meta")
    for field in ("tokens", "example", "position", "target", "length"):
        assert getattr(moved, field).device.type == "meta"
        assert getattr(moved, field).shape == getattr(events, field).shape


@given(EXAMPLES, EXAMPLES)
def test_joined_events_are_those_of_all_examples(first, then):
    joined = Events.of(*zip(*first, strict=True)).joined(Events.of(*zip(*then, strict=True)))
    whole = Events.of(*zip(*first, *then, strict=True))
    for field in ("tokens", "example", "position", "target", "length", "rows"):
        assert torch.equal(getattr(joined, field), getattr(whole, field))


def test_events_are_cut_in_ranges_only():
    with pytest.raises(InvalidConfig, match="not by steps of 2"):
        Events.of([[1], [2]], [[3], [4]])[::2]
