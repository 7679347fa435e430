"""Number naming: digits in, the English name out (paper, section 5.1; appendix F)."""

from quantascope.tasks.number_naming.oracle import LARGEST, number_name
from quantascope.tasks.number_naming.splits import PANELS, length_balanced
from quantascope.tasks.number_naming.tokens import POSITIONS, VOCABULARY, answer, naming_events, prompt

__all__ = [
    "LARGEST",
    "PANELS",
    "POSITIONS",
    "VOCABULARY",
    "answer",
    "length_balanced",
    "naming_events",
    "number_name",
    "prompt",
]
