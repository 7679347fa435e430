"""The words of PyPI `lemminflect` and their split into panels, by lemma.

A word's place is decided by the digest of its lemma, so all forms of a lemma are in one split, and another version
of the data moves no word.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.inflection.rules import FORMS, regular_form
from quantascope.tasks.packaged import PackagedData, packaged_data

SHORTEST, LONGEST = 3, 12
"""Letters of a lemma."""
LONGEST_FORM = 15
TRAINING_SIZES = (100, 300, 1000, 3000)
TRAINING, DEVELOPMENT, TEST = 3000, 500, 2000
_FORM_OF = {"noun": "PLURAL", "verb": "PAST", "adj": "COMPARATIVE"}
_SPLITS = ("development", *("test",) * 3, *("training",) * 12)
"""The splits of every sixteen lemmas."""


def data() -> PackagedData:
    """The file of inflections."""
    return packaged_data("lemminflect", "resources/infl_lu.csv.gz")


@cache
def lexicon() -> Mapping[str, str]:
    """The first listed form of every word that has one, by lemma and form, as in `walk+PAST`.

    Words are of the letters a to z. Nouns whose listed plural is the word itself mostly have no plural,
    such as *furniture*, and are left out.
    """
    found: dict[str, str] = {}
    with gzip.open(data().path, "rt", encoding="utf-8") as lines:
        for line in lines:
            lemma, category, *forms = line.strip().split(",")
            word = forms[0].split("/")[0] if forms else ""
            if category in _FORM_OF and _is_word(lemma, LONGEST) and _is_word(word, LONGEST_FORM):
                if category == "noun" and lemma in forms[0].split("/"):
                    continue
                found[f"{lemma}+{_FORM_OF[category]}"] = word
    if not found:
        raise InvalidConfig(f"{data().label} lists no words; pip install --force-reinstall 'quantascope[data]'")
    return found


def _is_word(word: str, longest: int) -> bool:
    return SHORTEST <= len(word) <= longest and word.isascii() and word.isalpha() and word.islower()


def parts(asked: str) -> tuple[str, str]:
    """Lemma and form of an input.

    >>> parts("walk+PAST")
    ('walk', 'PAST')
    """
    lemma, _, form = asked.partition("+")
    return lemma, form


def form_of(asked: str) -> str:
    """The form in the data, or the form by the rules for a word that is not in the data."""
    return lexicon().get(asked) or regular_form(*parts(asked))


def is_regular(asked: str) -> bool:
    """Whether the spelling rules give the form."""
    return form_of(asked) == regular_form(*parts(asked))


def split_of(lemma: str) -> str:
    """The split that a lemma belongs to."""
    return _SPLITS[int(_digest(lemma), 16) % len(_SPLITS)]


@cache
def split(name: str) -> tuple[str, ...]:
    """The words of a split, in the order of digests of their own."""
    return tuple(sorted((word for word in lexicon() if split_of(parts(word)[0]) == name), key=_digest))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


PANELS = {
    "training": lambda: split("training")[:TRAINING],
    **{f"training_{size}": lambda size=size: split("training")[:size] for size in TRAINING_SIZES},
    "training_all": lambda: split("training"),
    "development": lambda: split("development")[:DEVELOPMENT],
    "development_150": lambda: split("development")[:150],
    "test": lambda: split("test")[:TEST],
    "test_150": lambda: split("test")[:150],
    "test_regular": lambda: tuple(word for word in split("test")[:TEST] if is_regular(word)),
    "test_exceptions": lambda: tuple(word for word in split("test") if not is_regular(word)),
}


def read_asked(text: str) -> str:
    """Parse a user's text to a lemma and a form."""
    lemma, form = parts(text.strip())
    form = form.upper()
    if form not in FORMS:
        raise InvalidConfig(
            f"'{text}' asks for no form; write WORD+FORM, as in walk+PAST, with {', '.join(FORMS)}"
        )
    strange = next((letter for letter in lemma if not "a" <= letter <= "z"), None)
    if strange is not None:
        raise InvalidConfig(f"'{lemma}' has the character '{strange}'; write it with the letters a to z")
    if not SHORTEST <= len(lemma) <= LONGEST:
        raise InvalidConfig(f"'{lemma}' has {len(lemma)} letters; give a word of {SHORTEST} to {LONGEST}")
    return f"{lemma}+{form}"
