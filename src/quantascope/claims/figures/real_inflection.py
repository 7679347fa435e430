"""Figure of the real-inflection claim."""

from quantascope.claims.figures.real_source import draw

__all__ = ["draw"]
