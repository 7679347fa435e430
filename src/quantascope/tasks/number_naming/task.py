"""Number naming as a `SequenceTask`, with its property table, probes of zeros, and a pool of further numbers."""

import random
from functools import cache

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.number_naming.oracle import LARGEST, number_name
from quantascope.tasks.number_naming.properties import naming_properties, zero_properties
from quantascope.tasks.number_naming.splits import LENGTHS, PANELS
from quantascope.tasks.number_naming.tokens import EOS, POSITIONS, VOCABULARY
from quantascope.tasks.sequence import SequenceTask


@cache
def pool_numbers(count: int, seed: int) -> tuple[int, ...]:
    """Numbers outside every panel, by lengths in turn; short lengths, whose numbers are few, come again.

    Every number below a thousand is in a panel, so all have four digits or more.
    """
    taken = set().union(*(numbers() for numbers in PANELS.values()))
    draw = random.Random(4_000_003 + seed)
    lengths = [length for length in LENGTHS if length >= 4]
    each = -(-count // len(lengths))
    drawn = []
    for length in lengths:
        free = [number for number in range(10 ** (length - 1), 10**length) if number not in taken]
        drawn.append(
            [number for _ in range(-(-each // len(free))) for number in draw.sample(free, len(free))][:each]
        )
    return tuple(number for turn in zip(*drawn, strict=True) for number in turn)[:count]


def read_number(text: str) -> int:
    """Parse a user's text to a number.

    >>> read_number("12,345")
    12345
    """
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= LARGEST:
        raise InvalidConfig(f"{text} has no name here; give a number from 1 to {LARGEST:,}")
    return int(digits)


task = SequenceTask(
    vocabulary=VOCABULARY,
    positions=POSITIONS,
    prompt=str,
    answer=lambda number: (*number_name(number), EOS),
    panels=PANELS,
    reported=("balanced", "zero_gap", "short_tail"),
    read=read_number,
    describe=naming_properties,
    probes=zero_properties,
    pool=pool_numbers,
    whole=("contaminated",),
)
