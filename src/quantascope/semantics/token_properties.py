"""A default property table for any text source.

    predicts      the token that is to be predicted
    after         the token before it
    position      its position in the output, for the first positions
    class         letters, digits, punctuation, white space, special; whether it begins a word
    frequency     frequency of the token among the events: most common, common, rare

Only the most common tokens get their own atom; a rare token has too few events for a test.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from quantascope.quanta.properties import Properties
from quantascope.tasks.events import Events

MOST_TOKENS = 100
MOST_POSITIONS = 16
_WORD_STARTS = ("Ġ", "▁", " ")


def token_properties(events: Events, vocabulary: tuple[str, ...]) -> Properties:
    """The atoms of every event.

    >>> events = Events.of([[1, 2]], [[3, 1]])
    >>> token_properties(events, ("PAD", "a", "b", "7")).names[:4]
    ('predicts 7', 'predicts a', 'after b', 'after 7')
    """
    target = [vocabulary[token] for token in events.target.tolist()]
    before = [vocabulary[token] for token in events.tokens[events.example, events.position].tolist()]
    place = [str(index) if index < MOST_POSITIONS else None for index in events.index.tolist()]
    return Properties.of(
        {
            "predicts": _commonest(target),
            "after": _commonest(before),
            "position": place,
            "class": [token_class(token) for token in target],
            "class before": [token_class(token) for token in before],
            "begins": [token.startswith(_WORD_STARTS) for token in target],
            "frequency": _bands(target),
        },
        {
            "predicts": "predicts {}",
            "after": "after {}",
            "position": "at output position {}",
            "class": "predicts {}",
            "class before": "after {}",
            "begins": "begins a word",
            "frequency": "predicts a {} token",
        },
        example=events.example.tolist(),
    )


def token_class(token: str) -> str:
    """What kind of text a token is.

    >>> [token_class(token) for token in ("Ġthe", "42", "!?", "<s>", "Ċ", "a1")]
    ['letters', 'digits', 'punctuation', 'a special token', 'white space', 'mixed text']
    """
    text = token.lstrip("Ġ▁ ")
    if not text or not text.strip("Ċĉ\n\t\r "):
        return "white space"
    if len(text) > 2 and text[0] in "<[" and text[-1] in ">]":
        return "a special token"
    if text.isalpha():
        return "letters"
    if text.isdecimal():
        return "digits"
    return "mixed text" if any(sign.isalnum() for sign in text) else "punctuation"


def _commonest(tokens: Sequence[str]) -> list[str | None]:
    kept = {token for token, _ in Counter(tokens).most_common(MOST_TOKENS)}
    return [token if token in kept else None for token in tokens]


def _bands(tokens: Sequence[str]) -> list[str]:
    """Thirds of all events by the frequency of their token."""
    counts = Counter(tokens)
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    share = np.cumsum([counts[token] for token in ranked]) / len(tokens)
    band = {
        token: "very common" if upto <= 1 / 3 else "common" if upto <= 2 / 3 else "rare"
        for token, upto in zip(ranked, share.tolist(), strict=True)
    }
    return [band[token] for token in tokens]
