"""English inflection: plurals, past tenses and comparatives, letter by letter; rules and exceptions."""

from quantascope.tasks.inflection.lexicon import FORMS, lexicon
from quantascope.tasks.inflection.rules import regular_form

__all__ = ["FORMS", "lexicon", "regular_form"]
