"""Checks on samples see what happens only in every second or third input, or only at a late token."""

from collections import Counter
from itertools import pairwise

import pytest
from hidden_dependencies import Sketch, memory
from test_soundness import REFUSALS

from quantascope.program import compile_program, lift, when
from quantascope.program.drawn import drawn

SIZES = (201, 300, 400, 401, 500, 600, 1000)
"""Numbers of inputs that a sample of 100, 200 or 400 would take in steps of 2 to 10."""


def test_a_sample_takes_as_many_of_every_remainder_in_the_order_of_the_items():
    for size, period in [(400, 2), (600, 3), (1000, 5), (801, 4)]:
        sample = drawn(range(size), 200)
        shares = Counter(item % period for item in sample)
        assert len(sample) == 200
        assert all(0 < later - item < 2 * size / 200 for item, later in pairwise(sample))
        assert len(shares) == period
        assert max(shares.values()) < 1.5 * 200 / period


@pytest.mark.parametrize("period", [2, 3])
@pytest.mark.parametrize("size", SIZES)
def test_memory_that_matters_in_every_second_or_third_input_is_refused(size, period):
    kept = {}
    program = memory(
        lambda number: kept.update(by=number % 2),
        lambda number: kept.get("by", 0) if number % period == period - 1 else 0,
        range(size),
    )
    with pytest.raises(REFUSALS):
        compile_program(program)


@pytest.mark.parametrize("period", [2, 3])
@pytest.mark.parametrize("size", SIZES)
def test_a_note_between_lifted_functions_in_every_second_or_third_input_is_refused(size, period):
    """Only interventions see this one."""
    note = {"by": 0}
    s = Sketch(CAUSE=lambda number: number // period % 2, RESULT=lambda number, noted: (number + noted) % 3)

    def remember(value):
        note["by"] = value
        return value

    def recall(number):
        return note["by"] if number % period == period - 1 else 0

    def say(state):
        cause = lift(remember, s.cause(state.source))
        return s.word(s.half(cause), s.result(state.source, lift(recall, state.source)))

    with pytest.raises(REFUSALS):
        compile_program(s.program(say, range(size)))


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("size", SIZES)
def test_memory_that_matters_only_at_the_last_token_is_refused(size, tokens):
    """CAUSE is stored by input at the first token, so that no intervention and no single quantum shows it."""
    kept = {}
    s = Sketch(
        CAUSE=lambda number: kept.update({number: number % 2}) or number % 2,
        STAGE=lambda position: min(position, tokens),
        HALF=None, WORD=None,
        FIRST=lambda cause: f"{cause}0",
        RESULT=lambda number, stage: f"0{(number // 2 + (kept.get(number, 0) if stage == tokens - 1 else 0)) % 3}",
    )  # fmt: skip

    def predict(state):
        now = s.stage(state.position)
        with when(now, tokens) as over:
            if over:
                return s.stop(now)
        with when(now, 0) as begins:
            if begins:
                return s.first(s.cause(state.source))
        return s.result(state.source, now)

    audited = s.registry.entry(
        audit=range(size), vocabulary=[*(f"{a}{b}" for a in range(2) for b in range(6)), "."], end="."
    )
    with pytest.raises(REFUSALS):
        compile_program(audited(predict))
