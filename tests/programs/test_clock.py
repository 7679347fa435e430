"""The program of clock times against the words that num2words has for numbers."""

import pytest
from num2words import num2words

from quantascope.programs import clock
from quantascope.runs.errors import InvalidConfig


def said(hour, minute):
    past = minute <= 30
    count, near = (minute, hour) if past else (60 - minute, hour + 1)
    name = num2words((near - 1) % 12 + 1)
    if not count:
        return f"{name} o'clock"
    words = {15: "quarter", 30: "half"}.get(count, num2words(count).replace("-", " "))
    unit = "" if count % 5 == 0 else " minute" if count == 1 else " minutes"
    return f"{words}{unit} {'past' if past else 'to'} {name}"


def test_every_time_is_right(compiled):
    for time, words in zip(clock.EVERY, compiled("clock").trace(clock.EVERY).written(), strict=True):
        assert " ".join(words) == f"{said(*time)} EOS"


def test_the_hour_follows_from_the_side(compiled):
    graph = compiled("clock").graph
    parents = {name: {graph.names[one] for one in graph.ancestors(i)} for i, name in enumerate(graph.names)}
    assert {"SIDE", "HOUR_ON_FACE"} <= parents["HOUR_SAID"]
    assert (len(graph.names), 1 + max(graph.levels)) == (17, 9)


def test_panels_are_disjoint_and_nested():
    training, development, evaluation = map(clock.task.panel, ("training", "development", "evaluation"))
    assert len({*training, *development, *evaluation}) == 24 * 60
    assert clock.task.panel("training_200") == training[:200]


def test_what_is_no_time_is_refused():
    assert clock.task.parse("7:35") == (7, 35)
    for text in ("24:00", "7:60", "735", "a:b"):
        with pytest.raises(InvalidConfig, match="no time"):
            clock.task.parse(text)
