"""Names against two independent libraries.

A name is that of its thousands and that of the rest. Both parts are compared in full; that names are joined so,
on numbers drawn from the whole range. To compare all 999,999 takes minutes and tells no more.
"""

from collections.abc import Callable

import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.number_naming import LARGEST, number_name


def num2words() -> Callable[[int], str]:
    return pytest.importorskip("num2words").num2words


def inflect() -> Callable[[int], str]:
    return pytest.importorskip("inflect").engine().number_to_words  # slow to import: only where it is used


def normalise(name: str) -> tuple[str, ...]:
    return tuple(word for word in name.replace("-", " ").replace(",", " ").split() if word != "and")


@pytest.mark.parametrize("library", [num2words, inflect])
def test_every_name_is_the_one_of_another_library(library, rng):
    name = library()
    whole = {*range(1, 1000), *range(1000, LARGEST + 1, 1000), *rng.integers(1, LARGEST + 1, 5000).tolist()}
    for number in whole:
        assert number_name(number) == normalise(name(number))


def test_every_name_is_that_of_its_thousands_and_that_of_the_rest():
    high = {number: number_name(number) for number in range(1000, LARGEST + 1, 1000)}
    low = {0: (), **{number: number_name(number) for number in range(1, 1000)}}
    for number in range(1000, LARGEST + 1, 7):
        assert number_name(number) == high[number - number % 1000] + low[number % 1000]


@pytest.mark.parametrize("number", [0, -3, 1_000_000])
def test_a_number_without_a_name_is_refused(number):
    with pytest.raises(InvalidConfig, match=f"{number} has no name here; give a number from 1 to 999,999"):
        number_name(number)
