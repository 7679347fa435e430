"""quantascope: see a network's training as the acquisition of discrete, reusable computations.

This is the public index. Names are loaded when first used, so that the theory works without torch.

>>> import quantascope
>>> quantascope.Poset.from_edges(3, [(0, 1), (1, 2)]).ancestors(2)
array([0, 1])
"""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quantascope.acquisition import AcquisitionTimes as AcquisitionTimes
    from quantascope.acquisition import acquisition_times as acquisition_times
    from quantascope.claims.claim import reproduce as reproduce
    from quantascope.claims.register import CLAIMS as CLAIMS
    from quantascope.claims.scoreboard import scoreboard as scoreboard
    from quantascope.discovery import Factors as Factors
    from quantascope.discovery import PriorityField as PriorityField
    from quantascope.discovery import factorize as factorize
    from quantascope.discovery import priority_field as priority_field
    from quantascope.models import TaskMLP as TaskMLP
    from quantascope.models import Transformer as Transformer
    from quantascope.program import Registry as Registry
    from quantascope.program import compile_program as compile_program
    from quantascope.program import when as when
    from quantascope.qmodel import QModel as QModel
    from quantascope.quanta.properties import Properties as Properties
    from quantascope.runs.engine import open_engine as open_engine
    from quantascope.runs.errors import QuantascopeError as QuantascopeError
    from quantascope.runs.run_directory import RunDirectory as RunDirectory
    from quantascope.scaling import PowerLawFit as PowerLawFit
    from quantascope.scaling import fit_power_law as fit_power_law
    from quantascope.semantics import Units as Units
    from quantascope.semantics import name_units as name_units
    from quantascope.sources.losses import ModuleLosses as ModuleLosses
    from quantascope.tasks.hsp import Forest as Forest
    from quantascope.tasks.hsp import build_forest as build_forest
    from quantascope.theory import Poset as Poset
    from quantascope.theory import parallel as parallel
    from quantascope.theory import sequential as sequential
    from quantascope.training import Recorder as Recorder
    from quantascope.training import Trajectory as Trajectory
    from quantascope.training import train as train

_HOME = {
    "AcquisitionTimes": "acquisition",
    "CLAIMS": "claims.register",
    "Factors": "discovery",
    "Forest": "tasks.hsp",
    "ModuleLosses": "sources.losses",
    "Poset": "theory",
    "PowerLawFit": "scaling",
    "PriorityField": "discovery",
    "Properties": "quanta.properties",
    "QModel": "qmodel",
    "QuantascopeError": "runs.errors",
    "Recorder": "training",
    "Registry": "program",
    "RunDirectory": "runs.run_directory",
    "TaskMLP": "models",
    "Trajectory": "training",
    "Transformer": "models",
    "Units": "semantics",
    "acquisition_times": "acquisition",
    "build_forest": "tasks.hsp",
    "compile_program": "program",
    "factorize": "discovery",
    "fit_power_law": "scaling",
    "name_units": "semantics",
    "open_engine": "runs.engine",
    "parallel": "theory",
    "priority_field": "discovery",
    "reproduce": "claims.claim",
    "scoreboard": "claims.scoreboard",
    "sequential": "theory",
    "train": "training",
    "when": "program",
}
__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("quantascope")
    if name not in _HOME:
        raise AttributeError(f"quantascope has no '{name}'; it has {', '.join(sorted(_HOME))}")
    return getattr(importlib.import_module(f"quantascope.{_HOME[name]}"), name)
