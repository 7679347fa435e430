"""Inflection by mistaken rules, beside which the right program can be judged; the task is that of inflection.

wrong        writes the lemma backwards and takes the suffix of another form: wrong for every word
steps        goes through the right steps, but every letter of the stem that it writes is an a
incomplete   knows neither *flies* nor *boxes*, and doubles in *catts* too: right for nine words in ten
"""

from quantascope.programs.inflection import inflection_program, task
from quantascope.tasks.inflection.rules import Rules, change_of, suffix_of

__all__ = ["incomplete", "steps", "task", "wrong"]

_TAKEN_FOR = {"PLURAL": "PAST", "PAST": "COMPARATIVE", "COMPARATIVE": "PLURAL"}
_UNKNOWN = ("consonant y", "hiss")


def _plain(ending: str) -> str:
    return "other" if ending in _UNKNOWN else ending


wrong = inflection_program(
    Rules(
        stem_of=lambda lemma: lemma[::-1],
        change_of=lambda ending, form: change_of(ending, _TAKEN_FOR[form]),
        suffix_of=lambda ending, form: suffix_of(ending, _TAKEN_FOR[form]),
    )
)
steps = inflection_program(Rules(stem_of=lambda lemma: "a" * len(lemma)))
incomplete = inflection_program(
    Rules(
        change_of=lambda ending, form: change_of(_plain(ending), "PAST"),
        suffix_of=lambda ending, form: suffix_of(_plain(ending), form),
    )
)
