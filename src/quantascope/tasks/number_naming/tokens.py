"""Numbers and their names as tokens: `[BOS] 4 2 0 1 7 [SEP] forty two thousand seventeen [EOS]`."""

from collections.abc import Iterable

from quantascope.tasks.events import Events
from quantascope.tasks.number_naming.oracle import TEENS, TENS, UNITS, number_name

PAD, BOS, SEP, EOS, UNK = "PAD", "BOS", "SEP", "EOS", "UNK"
DIGITS = tuple("0123456789")
WORDS = tuple(sorted((*UNITS, *TEENS, *TENS, "hundred", "thousand")))
VOCABULARY = (PAD, BOS, SEP, EOS, UNK, *DIGITS, *WORDS)
POSITIONS = 20
"""Positions that the models know; the longest example takes 18."""

TOKEN = {symbol: token for token, symbol in enumerate(VOCABULARY)}


def prompt(number: int) -> list[int]:
    """The tokens that ask for a number's name."""
    return [TOKEN[symbol] for symbol in (BOS, *str(number), SEP)]


def answer(number: int) -> list[int]:
    """The tokens of a number's name, with its end."""
    return [TOKEN[word] for word in (*number_name(number), EOS)]


def naming_events(numbers: Iterable[int]) -> Events:
    """The prediction events of naming these numbers.

    >>> events = naming_events([7, 20])
    >>> [VOCABULARY[token] for token in events.target]
    ['seven', 'EOS', 'twenty', 'EOS']
    """
    numbers = [int(number) for number in numbers]
    return Events.of([prompt(number) for number in numbers], [answer(number) for number in numbers])
