"""Spelling to sound: the pronunciation of English words, phoneme by phoneme; rules, exceptions and many names."""

from quantascope.tasks.spelling.alignment import align, regularity
from quantascope.tasks.spelling.lexicon import family, lexicon

__all__ = ["align", "family", "lexicon", "regularity"]
