"""The program of Roman numerals against the rule of the greatest value first."""

import pytest

from quantascope.programs import roman
from quantascope.runs.errors import InvalidConfig

VALUES = {
    "M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5,
    "IV": 4, "I": 1,
}  # fmt: skip


def numeral(number):
    letters = ""
    for sign, value in VALUES.items():
        letters += sign * (number // value)
        number %= value
    return letters


def test_numerals_are_right(compiled):
    numbers = [*range(1, 100), *range(100, roman.LARGEST + 1, 7)]
    for number, letters in zip(numbers, compiled("roman").trace(numbers).written(), strict=True):
        assert "".join(letters) == numeral(number) + "EOS"


def test_letters_follow_from_place_and_sign(compiled):
    graph = compiled("roman").graph
    parents = {name: {graph.names[one] for one in graph.parents(i)} for i, name in enumerate(graph.names)}
    assert parents["SIGN"] == {"LETTER", "DIGIT"}
    assert parents["END_OF_TENS"] == {"TENS", "END_OF_HUNDREDS"}
    assert (len(graph.names), 1 + max(graph.levels)) == (14, 9)


def test_panels_are_disjoint_and_nested():
    training, development, evaluation = map(roman.task.panel, ("training", "development", "evaluation"))
    assert len({*training, *development, *evaluation}) == roman.LARGEST
    assert roman.task.panel("training_100") == training[:100]


def test_what_is_no_number_is_refused():
    assert roman.task.parse(" 1984 ") == 1984
    for text in ("0", "4000", "IV", ""):
        with pytest.raises(InvalidConfig, match="no Roman numeral"):
            roman.task.parse(text)
