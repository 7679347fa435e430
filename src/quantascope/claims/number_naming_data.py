"""The numbers that number naming is trained and tested on, counted (appendix F; section 5.1)."""

from collections.abc import Mapping
from typing import Any

from quantascope.claims.claim import exact_claim
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config
from quantascope.tasks.number_naming import PANELS
from quantascope.tasks.number_naming.splits import LENGTHS, digits, has_short_tail, has_zero_gap


class NumberNamingData(Config):
    """There is nothing to set: the lists are fixed."""


def measure(config: NumberNamingData, evidence: Mapping[str, Any]) -> dict[str, Estimate]:
    """Exact counts, each a single value."""
    numbers = {name: panel() for name, panel in PANELS.items()}
    trained = set(numbers["training"])
    facts = {
        "training_numbers": ("training numbers", len(trained)),
        **{
            f"training_length_{length}": (
                f"training numbers of {length} digits",
                sum(digits(number) == length for number in trained),
            )
            for length in LENGTHS
        },
        "training_zero_gap": ("training numbers with a zero gap", sum(map(has_zero_gap, trained))),
        "training_short_tail": ("training numbers with a short tail", sum(map(has_short_tail, trained))),
        "balanced_evaluation": ("numbers of the balanced evaluation", len(numbers["balanced"])),
        "balanced_below_1000": ("of these below 1,000", sum(number < 1000 for number in numbers["balanced"])),
        "balanced_training_overlap": ("of these trained on", len(trained & set(numbers["balanced"]))),
        "zero_gap": ("untrained zero-gap numbers", len(numbers["zero_gap"])),
        "short_tail": ("untrained short-tail numbers", len(numbers["short_tail"])),
        "heldout_panel": ("numbers of the held-out panel", len(numbers["contaminated"])),
        "heldout_panel_trained": ("of the paper's panel trained on", len(trained & set(numbers["contaminated"]))),
        "calibration_panel": ("numbers of the calibration panel", len(numbers["calibration"])),
        "test_panel": ("numbers of the test panel", len(numbers["test"])),
        "causal_panel": ("numbers of the causal panel", len(numbers["causal"])),
    }
    return {key: Estimate.over_runs(says, [value], "numbers") for key, (says, value) in facts.items()}


CLAIM = exact_claim(
    name="number-naming-data",
    says="300 training numbers, a balanced evaluation, and panels that test recombination",
    config=NumberNamingData(),
    measure=measure,
)
