"""Tasks of sequences: tokens in, tokens out, and what is refused."""

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
