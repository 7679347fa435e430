"""Names against two independent libraries, over the whole range."""

import copy

import inflect
import pytest
from num2words import CONVERTER_CLASSES

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.number_naming import LARGEST, number_name

NUM2WORDS = copy.copy(CONVERTER_CLASSES["en"])
NUM2WORDS.cards = {card: word for card, word in NUM2WORDS.cards.items() if card <= LARGEST}  # five times faster
INFLECT = inflect.engine()


def normalise(name: str) -> tuple[str, ...]:
    return tuple(word for word in name.replace("-", " ").replace(",", " ").split() if word != "and")


@pytest.mark.parametrize("name", [NUM2WORDS.to_cardinal, INFLECT.number_to_words], ids=["num2words", "inflect"])
@pytest.mark.parametrize("start", range(1, LARGEST + 1, 250_000))
def test_every_name_is_the_one_of_another_library(name, start):
    for number in range(start, min(start + 250_000, LARGEST + 1)):
        assert number_name(number) == normalise(name(number))


@pytest.mark.parametrize("number", [0, -3, 1_000_000])
def test_a_number_without_a_name_is_refused(number):
    with pytest.raises(InvalidConfig, match=f"{number} has no name here; give a number from 1 to 999,999"):
        number_name(number)
