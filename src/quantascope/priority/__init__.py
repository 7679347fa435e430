"""Where priority went during training, and the quanta that it is made of."""

from quantascope.priority.factorize import assign, explained_share, factorize, negative_mass
from quantascope.priority.factors import Factors

__all__ = ["Factors", "assign", "explained_share", "factorize", "negative_mass"]
