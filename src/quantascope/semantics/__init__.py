"""Describes units: the simplest description, in terms of a property table, of when each unit is active.

Works without torch: a unit is a row of truth values over events.

>>> import numpy as np
>>> from quantascope.quanta.properties import Properties
>>> from quantascope.semantics import Units, name_units
>>> rng = np.random.default_rng(0)
>>> def panel(events=400):
...     values = rng.random((3, events)) < 0.4
...     table = Properties(("is red", "is round", "is old"), values, example=np.arange(events) // 2)
...     return table, Units.of(["apple"], (values[0] & values[1])[None])
>>> calibration, test = panel(), panel()
>>> [named] = name_units(calibration, test)
>>> named.words, named.score.f1, round(named.score.constant, 2)
('is red and is round', 1.0, 0.33)
"""

from quantascope.semantics.describe import Description, describe
from quantascope.semantics.detect import Detected, detectors
from quantascope.semantics.name import Named, Score, name_units
from quantascope.semantics.score import f1
from quantascope.semantics.units import LEAST, Units, shared_atoms

__all__ = [
    "LEAST",
    "Description",
    "Detected",
    "Named",
    "Score",
    "Units",
    "describe",
    "detectors",
    "f1",
    "name_units",
    "shared_atoms",
]
