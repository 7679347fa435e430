"""The networks that quantascope trains itself."""

from quantascope.models.cohort import Cohort
from quantascope.models.mlp import MLPConfig, MuMLPConfig, TaskMLP

__all__ = ["Cohort", "MLPConfig", "MuMLPConfig", "TaskMLP"]
