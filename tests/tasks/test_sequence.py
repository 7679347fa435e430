"""Tasks of sequences: tokens in, tokens out, and what is refused."""

import os

import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.sequence import SequenceTask

PARTS = {
    "vocabulary": ("PAD", "BOS", "SEP", "EOS", "a", "b"),
    "positions": 6,
    "prompt": tuple,
    "answer": lambda text: (*reversed(text), "EOS"),
    "panels": {"training": lambda: ("ab",), "evaluation": lambda: ("ba", "b")},
}


def test_an_example_reads_prompt_then_answer():
    events = SequenceTask(**PARTS).events(["ab", "b"])
    assert events.tokens.tolist() == [[1, 4, 5, 2, 5, 4], [1, 5, 2, 5, 0, 0]]
    assert events.target.tolist() == [5, 4, 3, 5, 3]
    assert events.position.tolist() == [3, 4, 5, 2, 3]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vocabulary": ("BOS", "PAD", "SEP", "EOS")}, "begins with PAD"),
        ({"vocabulary": ("PAD", "BOS", "EOS")}, "holds BOS and SEP"),
        ({"vocabulary": ("PAD", "BOS", "SEP", "a", "a")}, "a symbol twice"),
        ({"panels": {"evaluation": lambda: ("a",)}}, "one must be named training"),
        ({"reported": ("zero_gap",)}, "no panel 'zero_gap' to report; there are training, evaluation"),
    ],
)
def test_an_impossible_task_is_refused(changes, says):
    with pytest.raises(InvalidConfig, match=says):
        SequenceTask(**{**PARTS, **changes})


def test_unknown_symbols_panels_and_long_examples_are_named():
    task = SequenceTask(**PARTS)
    with pytest.raises(InvalidConfig, match="input 'abc' needs 'c', which is not in the vocabulary"):
        task.events(["abc"])
    for changes in ({"prompt": lambda text: ("PAD", *text)}, {"answer": lambda text: (*text, "PAD")}):
        with pytest.raises(InvalidConfig, match="input 'ab' uses 'PAD', which fills rows beyond their end"):
            SequenceTask(**{**PARTS, **changes}).events(["ab"])
    with pytest.raises(InvalidConfig, match="there is no panel 'test'; known panels are training, evaluation"):
        task.panel("test")
    with pytest.raises(InvalidConfig, match="takes 8 positions of 6; raise `positions`"):
        task.events(["aba"])


def _symbols_of_digits(text: str) -> tuple[str, ...]:
    if text == "!":
        os._exit(7)
    return tuple("ab"[int(digit)] if digit < "2" else digit for digit in text)


def test_of_many_inputs_those_that_the_task_cannot_ask_about_have_no_prompt():
    task = SequenceTask(**{**PARTS, "prompt": _symbols_of_digits})
    assert task.possible_prompts(["0", "2", "10"]) == [[1, 4, 2], None, [1, 5, 4, 2]]  # 2 is no symbol
    assert task.possible_prompts(["0", "x", "!", "1"]) == [[1, 4, 2], None, None, [1, 5, 2]]  # x raises, ! crashes


def test_prompts_of_many_inputs_take_one_process(monkeypatch):
    started, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: started.append(1) or fork())
    task = SequenceTask(**{**PARTS, "prompt": _symbols_of_digits})
    assert task.prompts(["0"] * 50) == task.possible_prompts(["0"] * 50) == [[1, 4, 2]] * 50
    assert len(started) == 2
