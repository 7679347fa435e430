"""Executable Q-models: quanta with gates and messages on a graph."""

from quantascope.qmodel.cell import Cells, closed_activity
from quantascope.qmodel.compiled import CompiledConfig, CompiledQModel, QExecution
from quantascope.qmodel.deployed import QModel
from quantascope.qmodel.recovered import RecoveredConfig, RecoveredExecution, RecoveredQModel
from quantascope.qmodel.supervision import SupervisedQModel, Supervision, gate_loss

__all__ = [
    "Cells",
    "CompiledConfig",
    "CompiledQModel",
    "QExecution",
    "QModel",
    "RecoveredConfig",
    "RecoveredExecution",
    "RecoveredQModel",
    "SupervisedQModel",
    "Supervision",
    "closed_activity",
    "gate_loss",
]
