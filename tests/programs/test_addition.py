"""The addition program against arithmetic."""

import itertools

import pytest

from quantascope.programs import addition

EVERY_COLUMN = [
    (a * 100 + c, b * 100 + d) for a, b in itertools.product(range(10), repeat=2) for c, d in ((7, 8), (1, 2))
]


@pytest.mark.parametrize("panel", ["training", "development", "carried_through"])
def test_sums_are_right(compiled, panel):
    pairs = addition.task.panel(panel)
    for (left, right), digits in zip(pairs, compiled("addition").trace(pairs).written(), strict=True):
        assert digits[-1] == "EOS"
        assert int("".join(reversed(digits[:-1]))) == left + right
        assert len(digits) == 1 + max(3, len(str(left + right)))


def test_every_pair_of_digits_in_every_column(compiled):
    pairs = EVERY_COLUMN + [(a % 100 * 10, b % 100 * 10) for a, b in EVERY_COLUMN]
    for (left, right), digits in zip(pairs, compiled("addition").trace(pairs).written(), strict=True):
        assert int("".join(reversed(digits[:-1]))) == left + right


def test_the_graph_is_another_one(compiled):
    graph = compiled("addition").to_json()
    assert (len(graph["quanta"]), len(graph["edges"]), graph["levels"]) == (12, 14, 7)


def test_panels_are_disjoint():
    training, development, evaluation = map(addition.task.panel, ("training", "development", "evaluation"))
    assert len({*training, *development, *evaluation}) == 300 + 1024 + 8192


def test_a_carry_passes_through_nines_only():
    assert addition.carried_through((45, 55))
    assert not addition.carried_through((45, 65))
    assert not addition.carried_through((44, 55))
