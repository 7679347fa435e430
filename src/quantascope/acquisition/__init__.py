"""Acquisition of functions: their times, sharpness and order, and the loss that this order implies."""

from quantascope.acquisition.clock import ClockFit, fit_clock, rank_correlation
from quantascope.acquisition.forecast import Forecast, forecast, simulate_modes, simulate_tasks
from quantascope.acquisition.functional import evaluate_panel, functional_coefficient, mode_fraction
from quantascope.acquisition.reconstruction import closed_step, reconstructed_loss
from quantascope.acquisition.times import (
    THRESHOLD,
    AcquisitionTimes,
    acquisition_times,
    first_crossing,
    transition_breadth,
)

__all__ = [
    "THRESHOLD",
    "AcquisitionTimes",
    "ClockFit",
    "Forecast",
    "acquisition_times",
    "closed_step",
    "evaluate_panel",
    "first_crossing",
    "fit_clock",
    "forecast",
    "functional_coefficient",
    "mode_fraction",
    "rank_correlation",
    "reconstructed_loss",
    "simulate_modes",
    "simulate_tasks",
    "transition_breadth",
]
