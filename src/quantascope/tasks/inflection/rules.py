"""The spelling rules of regular English inflection. What they do not give is an exception.

    form = stem, changed at its end if need be, and a suffix

They know letters, not stress: *visited* is regular, *preferred*, which doubles in the second syllable, is not.
"""

from collections.abc import Callable
from dataclasses import dataclass

VOWELS = frozenset("aeiou")
FORMS = ("PLURAL", "PAST", "COMPARATIVE")
ENDINGS = ("hiss", "silent e", "consonant y", "short vowel", "other")
CHANGES = ("none", "y to i", "double")
SUFFIXES = ("s", "es", "ed", "d", "er", "r")


def ending_of(lemma: str) -> str:
    """The kind of ending that decides how a word is inflected.

    >>> [ending_of(word) for word in ("box", "bake", "carry", "stop", "walk")]
    ['hiss', 'silent e', 'consonant y', 'short vowel', 'other']
    """
    if lemma.endswith("e"):
        return "silent e"
    if lemma.endswith("y") and lemma[-2:-1] not in VOWELS:
        return "consonant y"
    if lemma.endswith(("s", "x", "z", "ch", "sh")):
        return "hiss"
    return "short vowel" if _doubles(lemma) else "other"


def _doubles(lemma: str) -> bool:
    """One syllable that ends in one vowel and one consonant which can be doubled."""
    vowels = [place for place, letter in enumerate(lemma) if letter in VOWELS]
    alone = len(vowels) == 1 or (len(vowels) == 2 and lemma[vowels[0] - 1 : vowels[1]] == "qu")
    return alone and vowels[-1] == len(lemma) - 2 and lemma[-1] not in "wxy"


def change_of(ending: str, form: str) -> str:
    """What happens to the end of the stem."""
    if ending == "consonant y":
        return "y to i"
    return "double" if ending == "short vowel" and form != "PLURAL" else "none"


def suffix_of(ending: str, form: str) -> str:
    """The letters that follow the stem."""
    if form == "PLURAL":
        return "es" if ending in ("hiss", "consonant y") else "s"
    suffix = "ed" if form == "PAST" else "er"
    return suffix[1:] if ending == "silent e" else suffix


@dataclass(frozen=True)
class Rules:
    """What becomes of a lemma: the stem that is written, the change at its end, the suffix."""

    stem_of: Callable[[str], str] = str
    change_of: Callable[[str, str], str] = change_of
    suffix_of: Callable[[str, str], str] = suffix_of


def regular_form(lemma: str, form: str) -> str:
    """The form by the rules.

    >>> [regular_form(*asked) for asked in (("fly", "PLURAL"), ("stop", "PAST"), ("large", "COMPARATIVE"))]
    ['flies', 'stopped', 'larger']
    """
    ending = ending_of(lemma)
    stem = {"none": lemma, "y to i": f"{lemma[:-1]}i", "double": lemma + lemma[-1]}[change_of(ending, form)]
    return stem + suffix_of(ending, form)
