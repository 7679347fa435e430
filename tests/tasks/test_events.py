"""Events: where which token is predicted."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import PAD, Events

TOKENS = st.lists(st.integers(1, 9), min_size=1, max_size=5)
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
    flat = events.tokens.reshape(-1)
    assert (flat[events.rows] != PAD).all()
    assert len(events.rows) == (flat != PAD).sum()
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
        for field in ("tokens", "example", "position", "target", "index"):
            assert torch.equal(getattr(part, field), getattr(alone, field))


def test_events_without_examples_or_outputs_are_refused():
    for prompts, outputs in (([], []), ([[1]], [[]]), ([[]], [[1]])):
        with pytest.raises(InvalidConfig, match="at least one example"):
            Events.of(prompts, outputs)


def test_padding_inside_an_example_is_refused():
    with pytest.raises(InvalidConfig, match="token 0 is padding and cannot stand inside an example"):
        Events.of([[1, 6, PAD], [1, 7, 8, 2]], [[3], [4]])


def test_events_are_cut_in_ranges_only():
    with pytest.raises(InvalidConfig, match="not by steps of 2"):
        Events.of([[1], [2]], [[3], [4]])[::2]
