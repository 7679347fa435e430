"""Which letters of a word say which of its sounds, and whether they do so by rule.

The cheapest way to read a word as graphemes of the table:

    0   a grapheme has its sound by rule, or is a vowel that is reduced where there is no stress
    1   it has another of its listed sounds
    0   a letter is silent by rule: a final e
    3   a letter is silent otherwise
    5   a letter has a sound that is not listed, or a sound has no letter

Among equal ways the one with the fewest graphemes is taken. A word is *regular* if everything in it is by rule,
*minor* if everything is listed, and else an *exception*.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from quantascope.tasks.spelling.graphemes import (
    LISTED,
    LONGEST_GRAPHEME,
    REDUCED,
    VOWEL_LETTERS,
    by_rule,
    is_silent_by_rule,
)

Kind = Literal["rule", "listed", "final e", "silent", "unlisted"]
_COST: dict[Kind, int] = {"rule": 0, "listed": 1, "final e": 0, "silent": 3, "unlisted": 5}
_OF_A_GRAPHEME = 0.01
_ANY = ("any",)
_Move = tuple[str, int, Kind]
_Reading = tuple[str, tuple[str, ...], Kind, bool]
Regularity = Literal["regular", "minor", "exception"]


@dataclass(frozen=True)
class Grapheme:
    """Letters from `start`, how many phonemes they say, and whether by rule."""

    letters: str
    start: int
    sounds: int
    kind: Kind


@lru_cache(maxsize=200_000)
def align(word: str, phonemes: tuple[str, ...]) -> tuple[Grapheme, ...]:
    """The graphemes of a word that is said in these phonemes, whose digits are their stress.

    >>> [(one.letters, one.kind) for one in align("knight", ("N", "AY1", "T"))]
    [('kn', 'rule'), ('igh', 'rule'), ('t', 'rule')]
    >>> [(one.letters, one.kind) for one in align("debt", ("D", "EH1", "T"))]
    [('d', 'rule'), ('e', 'rule'), ('b', 'silent'), ('t', 'rule')]
    """
    bare = tuple(phoneme.rstrip("012") for phoneme in phonemes)
    best: dict[tuple[int, int], tuple[float, tuple[int, int], _Move | None]] = {(0, 0): (0.0, (0, 0), None)}
    for start in range(len(word) + 1):
        readings = list(_readings(word, start))
        for said in range(len(phonemes) + 1):
            if (start, said) not in best:
                continue
            cost = best[start, said][0]
            stressed = said == len(phonemes) or phonemes[said][-1] != "0"
            for letters, sounds, kind, if_unstressed in readings:
                ahead = bare[said : said + len(sounds)]
                if (stressed and if_unstressed) or (ahead != sounds and (sounds != _ANY or not ahead)):
                    continue
                reached = start + len(letters), said + len(sounds)
                total = cost + _COST[kind] + _OF_A_GRAPHEME
                if reached not in best or total < best[reached][0]:
                    best[reached] = total, (start, said), (letters, len(sounds), kind)
    found, place = list[Grapheme](), (len(word), len(phonemes))
    while place != (0, 0):
        _, place, move = best[place]
        assert move is not None
        found.append(Grapheme(move[0], place[0], move[1], move[2]))
    return tuple(reversed(found))


def _readings(word: str, start: int) -> Iterator[_Reading]:
    """Letters from a place with a sound that they may have there, and whether it is one of reduced vowels."""
    unlisted: Kind = "unlisted"
    yield "", _ANY, unlisted, False
    if start == len(word):
        return
    for length in range(1, min(LONGEST_GRAPHEME, len(word) - start) + 1):
        letters = word[start : start + length]
        if letters in LISTED:
            yield from _sounds(word, start, letters)
    yield word[start], _ANY, unlisted, False
    silent: Kind = "final e" if is_silent_by_rule(word, start) else "silent"
    yield word[start], (), silent, False


def _sounds(word: str, start: int, letters: str) -> Iterator[_Reading]:
    rule = by_rule(word, start, letters)
    yield letters, rule, "rule", False
    if VOWEL_LETTERS.issuperset(letters):
        for sounds in REDUCED:
            yield letters, sounds, "rule", True
    for sounds in LISTED[letters]:
        if sounds != rule:
            yield letters, sounds, "listed", False


def regularity(word: str, phonemes: tuple[str, ...]) -> Regularity:
    """Whether a word is said by rule, by what is listed, or by neither.

    >>> [regularity("cat", ("K", "AE1", "T")), regularity("head", ("HH", "EH1", "D"))]
    ['regular', 'minor']
    >>> regularity("colonel", ("K", "ER1", "N", "AH0", "L"))
    'exception'
    """
    kinds = {one.kind for one in align(word, phonemes)}
    if kinds <= {"rule", "final e"}:
        return "regular"
    return "minor" if kinds <= {"rule", "final e", "listed"} else "exception"
