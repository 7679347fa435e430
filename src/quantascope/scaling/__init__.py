"""Scaling laws fitted to measurements: windows, power laws and their rivals, predictions, the joint law."""

from quantascope.scaling.fit import PowerLawFit, bootstrap_exponent, fit_power_law, log_error, power_law_or_nothing
from quantascope.scaling.forms import Forms, compare_forms, forms_or_undecided
from quantascope.scaling.prediction import compositional_order, direct_order, fractional, loss_after, reconstructed
from quantascope.scaling.windows import (
    LearningWindow,
    last_stable,
    learning_window,
    median_ending_at,
    median_of_neighbours,
)

__all__ = [
    "Forms",
    "LearningWindow",
    "PowerLawFit",
    "bootstrap_exponent",
    "compare_forms",
    "compositional_order",
    "direct_order",
    "fit_power_law",
    "forms_or_undecided",
    "fractional",
    "last_stable",
    "learning_window",
    "log_error",
    "loss_after",
    "median_ending_at",
    "median_of_neighbours",
    "power_law_or_nothing",
    "reconstructed",
]
