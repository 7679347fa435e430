"""Figure of the real-spelling claim."""

from quantascope.claims.figures.real_source import draw

__all__ = ["draw"]
