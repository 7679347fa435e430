"""Roman numerals: 1984 is M CM LXXX IV, written letter by letter."""

import random
from enum import Enum
from functools import cache

from quantascope.program import Registry, State, when
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.sequence import SequenceTask

LARGEST, LONGEST = 3999, 3888
END = "EOS"
LETTERS = ("M", "D", "C", "L", "X", "V", "I")
PATTERNS = ("", "1", "11", "111", "15", "5", "51", "511", "5111", "10")
"""How each digit is written; 1, 5 and 0 stand for the letters of one, five and ten of its place."""

Place = Enum("Place", "THOUSANDS HUNDREDS TENS UNITS END")
Sign = Enum("Sign", "ONE FIVE TEN")
SIGNS = {"1": Sign.ONE, "5": Sign.FIVE, "0": Sign.TEN}

registry = Registry()


@registry.quantum("THOUSANDS", output_cardinality=4)
def thousands(number: int) -> int:
    """The first digit."""
    return number // 1000


@registry.quantum("HUNDREDS", output_cardinality=10)
def hundreds(number: int) -> int:
    """The second digit."""
    return number // 100 % 10


@registry.quantum("TENS", output_cardinality=10)
def tens(number: int) -> int:
    """The third digit."""
    return number // 10 % 10


@registry.quantum("UNITS", output_cardinality=10)
def units(number: int) -> int:
    """The last digit."""
    return number % 10


@registry.quantum("END_OF_HUNDREDS", output_cardinality=8)
def end_of_hundreds(first: int, second: int) -> int:
    """Where the hundreds end; thousands are one letter each."""
    return first + len(PATTERNS[second])


@registry.quantum("END_OF_TENS", output_cardinality=12)
def end_of_tens(end: int, third: int) -> int:
    """Where the tens end."""
    return end + len(PATTERNS[third])


@registry.quantum("END_OF_UNITS", output_cardinality=15)
def end_of_units(end: int, fourth: int) -> int:
    """Where the numeral ends."""
    return end + len(PATTERNS[fourth])


@registry.quantum("PLACE", output_cardinality=5)
def place_of(position: int, first: int, second: int, third: int, fourth: int) -> Place:
    """The place whose letters are being written, by where each ends."""
    return list(Place)[sum(position >= end for end in (first, second, third, fourth))]


@registry.quantum("DONE", output_cardinality=2)
def is_done(place: Place) -> bool:
    """Whether all letters are written."""
    return place is Place.END


@registry.quantum("LETTER", output_cardinality=4)
def letter_of(position: int, place: Place, first: int, second: int, third: int) -> int:
    """Which letter of its place comes next."""
    starts = {Place.THOUSANDS: 0, Place.HUNDREDS: first, Place.TENS: second, Place.UNITS: third}
    return position - starts[place]


@registry.quantum("DIGIT", output_cardinality=9)
def digit_of(place: Place, first: int, second: int, third: int, fourth: int) -> int:
    """The digit of the place."""
    return (first, second, third, fourth)[place.value - 1]


@registry.quantum("SIGN", output_cardinality=3)
def sign_of(digit: int, letter: int) -> Sign:
    """The letter of one, of five or of ten."""
    return SIGNS[PATTERNS[digit][letter]]


@registry.quantum("EMIT_LETTER", output_cardinality=7)
def emit_letter(place: Place, sign: Sign) -> str:
    """The letter."""
    at = 2 * (place.value - 1) + {Sign.ONE: 0, Sign.FIVE: -1, Sign.TEN: -2}[sign]
    return LETTERS[at]


@registry.quantum("EMIT_END", output_cardinality=1)
def emit_end(done: bool) -> str:
    """Nothing is left."""
    return END


@registry.entry(audit=(*range(1, LARGEST, 7), LONGEST), vocabulary=(*LETTERS, END), end=END)
def predict(state: State) -> str | None:
    """The next letter of a numeral."""
    number, position = state.source, state.position
    first, second, third, fourth = thousands(number), hundreds(number), tens(number), units(number)
    after_hundreds = end_of_hundreds(first, second)
    after_tens = end_of_tens(after_hundreds, third)
    after_units = end_of_units(after_tens, fourth)
    place = place_of(position, first, after_hundreds, after_tens, after_units)
    done = is_done(place)
    with when(done, True) as finished:
        if finished:
            return emit_end(done)
    with when(done, False) as writing:
        if writing:
            letter = letter_of(position, place, first, after_hundreds, after_tens)
            sign = sign_of(digit_of(place, first, second, third, fourth), letter)
            return emit_letter(place, sign)
    return None


TRAINING, DEVELOPMENT = 300, 512


@cache
def drawn() -> tuple[int, ...]:
    """All numbers in random order."""
    return tuple(random.Random(0).sample(range(1, LARGEST + 1), LARGEST))


def read_number(text: str) -> int:
    """The number that a person types."""
    if not text.strip().isdecimal() or not 1 <= int(text) <= LARGEST:
        raise InvalidConfig(f"'{text}' has no Roman numeral here; give a number from 1 to {LARGEST}")
    return int(text)


task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", END, *"0123456789", *LETTERS),
    positions=24,
    prompt=lambda number: f"{number:04}",
    answer=predict.write,
    panels={
        "training": lambda: drawn()[:TRAINING],
        **{f"training_{count}": lambda count=count: drawn()[:count] for count in (100, 200, 300)},
        "development": lambda: drawn()[TRAINING : TRAINING + DEVELOPMENT],
        "evaluation": lambda: drawn()[TRAINING + DEVELOPMENT :],
    },
    end=END,
    read=read_number,
)
