"""Figure of the ordering claim."""

import numpy as np
from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.report.figures.discovery import time_panel
from quantascope.report.figures.style import panels


def draw(reproduction: Reproduction) -> Figure:
    """Acquisition time of the factors of all sources, at the finest threshold, against what should order them."""
    config, sources = reproduction.config, list(reproduction.evidence.values())
    found = [source.discovery("gradient", min(config.thresholds), starts=config.starts) for source in sources]
    demand = np.concatenate([one.factors.demand for one in found])
    complexity = np.concatenate([one.complexity for one in found])
    figure, axes = panels(3)
    properties = {
        "demand (share of events)": demand,
        "packet complexity (hidden units)": complexity,
        "demand / complexity": demand / complexity,
    }
    for letter, own, (label, values) in zip("abc", axes, properties.items(), strict=True):
        time_panel(own, found, values, label, letter=letter)
    return figure
