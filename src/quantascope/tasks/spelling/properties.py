"""What can be said about an event of spelling to sound: which letters say it, by what rule, and what it is."""

from collections.abc import Iterator, Sequence
from typing import Any

from quantascope.quanta.properties import Properties
from quantascope.tasks.spelling.alignment import Grapheme, align, regularity
from quantascope.tasks.spelling.graphemes import is_vowel
from quantascope.tasks.spelling.lexicon import sounds_of

END = "EOS"
_CLASSES = {
    "plosive": "P B T D K G", "affricate": "CH JH", "fricative": "F V TH DH S Z SH ZH HH", "nasal": "M N NG",
    "liquid": "L R", "glide": "W Y",
}  # fmt: skip
CLASS_OF = {sound: name for name, sounds in _CLASSES.items() for sound in sounds.split()}
VOICED = frozenset({"B", "D", "G", "JH", "V", "DH", "Z", "ZH", "M", "N", "NG", "L", "R", "W", "Y"})
STRESS = {"0": "unstressed", "1": "primary stress", "2": "secondary stress"}
LIBRARY = {
    "ends": "ends",
    "vowel": "says a vowel",
    "consonant": "says a consonant",
    "stress": "{}",
    "class": "says a {}",
    "voiced": "says a voiced consonant",
    "by rule": "sound by rule",
    "listed": "another sound of the grapheme",
    "unlisted": "sound beside the spelling",
    "silent before": "passes over a silent letter",
    "final e ahead": "long before a silent e",
    "after final e": "passes over a final e",
    "several letters": "grapheme of several letters",
    "later sound": "later sound of a grapheme",
    "doubled": "doubled letter",
    "soft": "soft c or g",
    "reduced": "reduced vowel",
    "regularity": "{} word",
    "first": "first sound",
    "last": "last sound",
    "sound": "says {}",
    "letters": "spelled {}",
    "first letter": "grapheme begins with {}",
    "next letter": "before the letter {}",
    "previous": "after {}",
    "length": "{}-letter word",
    "index": "output {}",
}  # fmt: skip
"""Columns in words; of two properties that hold in the same events, the first one is used."""
PROBES = (
    "ends", "says a vowel", "primary stress", "unstressed", "sound by rule", "another sound of the grapheme",
    "passes over a silent letter", "long before a silent e", "grapheme of several letters", "doubled letter",
    "soft c or g", "reduced vowel", "first sound", "last sound",
)  # fmt: skip
"""Properties for which the best single detector is reported."""


def spelling_probes(words: Sequence[str]) -> Properties:
    """The probed properties on the events of these words."""
    return spelling_properties(words).chosen(PROBES)


def spelling_properties(words: Sequence[str]) -> Properties:
    """The property table of the events of these words.

    >>> table = spelling_properties(["knight"])
    >>> table.atom("grapheme of several letters"), table.atom("says a vowel")
    (array([ True,  True, False, False]), array([False,  True, False, False]))
    """
    rows = [(place, row) for place, word in enumerate(words) for row in _events(word)]
    columns = {column: [row.get(column) for _, row in rows] for column in LIBRARY}
    return Properties.of(columns, LIBRARY, example=[place for place, _ in rows])


def _events(word: str) -> Iterator[dict[str, Any]]:
    sounds = sounds_of(word)
    graphemes = align(word, sounds)
    whole = {"regularity": regularity(word, sounds), "length": len(word)}
    previous, passed, index = "start", list[Grapheme](), 0
    for place, one in enumerate(graphemes):
        for number in range(one.sounds):
            yield {
                **whole,
                **_sound(sounds[index]),
                **_grapheme(word, graphemes, place),
                **_passed(passed),
                "later sound": number > 0,
                "first": index == 0,
                "last": index == len(sounds) - 1,
                "previous": previous,
                "index": index,
                "ends": False,
            }
            previous, passed, index = sounds[index].rstrip("012"), [], index + 1
        if not one.sounds:
            passed.append(one)
    ending = {"ends": True, "sound": END, "previous": previous, "index": index, **_passed(passed)}
    yield {**dict.fromkeys(_TRUTHS, False), **whole, **ending}


def _sound(sound: str) -> dict[str, Any]:
    bare = sound.rstrip("012")
    vowel = bare != sound
    return {
        "sound": bare,
        "vowel": vowel,
        "consonant": not vowel,
        "stress": STRESS[sound[-1]] if vowel else None,
        "class": CLASS_OF.get(bare),
        "voiced": bare in VOICED,
        "reduced": sound in ("AH0", "IH0"),
    }


def _grapheme(word: str, graphemes: Sequence[Grapheme], place: int) -> dict[str, Any]:
    one = graphemes[place]
    after = one.start + len(one.letters)
    letters = one.letters
    return {
        "letters": letters or None,
        "first letter": letters[:1] or None,
        "next letter": word[after : after + 1] or None,
        "by rule": one.kind == "rule",
        "listed": one.kind == "listed",
        "unlisted": one.kind == "unlisted",
        "several letters": len(letters) > 1,
        "doubled": len(letters) == 2 and letters[0] == letters[1] and not is_vowel(letters[0]),
        "soft": letters in ("c", "g", "sc") and word[after : after + 1] in tuple("eiy"),
        "final e ahead": any(later.kind == "final e" for later in graphemes[place + 1 : place + 3])
        and is_vowel(letters[:1]),
    }


def _passed(passed: Sequence[Grapheme]) -> dict[str, bool]:
    return {
        "silent before": any(one.kind == "silent" for one in passed),
        "after final e": any(one.kind == "final e" for one in passed),
    }


_TRUTHS = tuple(column for column, says in LIBRARY.items() if "{}" not in says)
