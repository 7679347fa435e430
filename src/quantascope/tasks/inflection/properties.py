"""What can be said about an event of inflection: which letter of which form is written, and by which rule."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from quantascope.quanta.properties import Properties
from quantascope.tasks.inflection.lexicon import form_of, is_regular, parts
from quantascope.tasks.inflection.rules import VOWELS, change_of, ending_of, regular_form

END = "EOS"
LIBRARY = {
    "step": "{}",
    "form": "{} form",
    "ending": "lemma ends in {}",
    "regular": "regular word",
    "exception": "exception",
    "departs": "departs from the rule",
    "changes y": "changes y to i",
    "doubles": "doubles the consonant",
    "last of stem": "last letter of the stem",
    "suffix place": "letter {} of the suffix",
    "vowel": "writes a vowel",
    "final": "lemma ends with the letter {}",
    "length": "{}-letter lemma",
    "previous": "after {}",
    "index": "output {}",
    "letter": "writes {}",
}
"""Columns in words; of two properties that hold in the same events, the first one is used."""

PROBES = (
    "copies the stem", "writes what is new", "ends", "last letter of the stem", "letter 1 of the suffix",
    "changes y to i", "doubles the consonant", "departs from the rule",
)  # fmt: skip
"""Properties for which the best single detector is reported."""


def inflection_probes(words: Sequence[str]) -> Properties:
    """The probed properties on the events of these words."""
    return inflection_properties(words).chosen(PROBES)


def inflection_properties(words: Sequence[str]) -> Properties:
    """The property table of the events of these words.

    >>> table = inflection_properties(["fly+PLURAL"])
    >>> table.atom("copies the stem"), table.atom("changes y to i")
    (array([ True,  True, False, False, False, False]), array([False, False,  True, False, False, False]))
    """
    rows = [(place, row) for place, asked in enumerate(words) for row in _events(asked)]
    columns = {column: [row[column] for _, row in rows] for column in LIBRARY}
    return Properties.of(columns, LIBRARY, example=[place for place, _ in rows])


def _events(asked: str) -> Iterator[dict[str, Any]]:
    lemma, form = parts(asked)
    written, by_rule = form_of(asked), regular_form(lemma, form)
    stem, agreed = _shared(lemma, written), _shared(by_rule, written)
    regular, ending = is_regular(asked), ending_of(lemma)
    change = change_of(ending, form) if regular else None
    suffix = stem + (change is not None and change != "none")
    for index, letter in enumerate((*written, END)):
        yield {
            "step": "ends" if letter == END else "copies the stem" if index < stem else "writes what is new",
            "form": form.lower(),
            "ending": ending,
            "regular": regular,
            "exception": not regular,
            "departs": not regular and index >= agreed,
            "changes y": change == "y to i" and index == stem,
            "doubles": change == "double" and index == stem,
            "last of stem": index == stem - 1,
            "suffix place": index - suffix + 1 if index >= suffix and letter != END else None,
            "vowel": letter in VOWELS,
            "final": lemma[-1],
            "length": len(lemma),
            "previous": written[index - 1] if index else "start",
            "index": index,
            "letter": letter,
        }


def _shared(first: str, second: str) -> int:
    """How many letters two words begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
