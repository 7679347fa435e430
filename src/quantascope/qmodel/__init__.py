"""Executable Q-models: quanta with gates and messages on a graph."""

from quantascope.qmodel.cell import Cells, closed_activity
from quantascope.qmodel.compiled.model import CompiledConfig, CompiledQModel, QExecution
from quantascope.qmodel.compiled.supervision import SupervisedQModel, Supervision, gate_loss
from quantascope.qmodel.recovered.execution import RecoveredExecution
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.qmodel.recovered.saved import QModel

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
