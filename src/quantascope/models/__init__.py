"""The networks that quantascope trains itself."""

from quantascope.models.mlp import MLPConfig, TaskMLP

__all__ = ["MLPConfig", "TaskMLP"]
