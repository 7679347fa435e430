"""Figure of the real-code claim."""

from quantascope.claims.figures.real_source import draw

__all__ = ["draw"]
