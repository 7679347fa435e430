"""The training loop for every model, and the trajectories that it saves."""

from quantascope.training.audit import audit
from quantascope.training.finding import Finding
from quantascope.training.history import History
from quantascope.training.hub_audit import audit_hub
from quantascope.training.loop import Evaluation, Pace, TrainingConfig, train
from quantascope.training.minibatches import Minibatches
from quantascope.training.objective import GradientOf, Objective, Term
from quantascope.training.optimizer import OptimizerConfig, ScheduleConfig
from quantascope.training.recorder import Recorder
from quantascope.training.trajectory import Trajectory

__all__ = [
    "Evaluation",
    "Finding",
    "GradientOf",
    "History",
    "Minibatches",
    "Objective",
    "OptimizerConfig",
    "Pace",
    "Recorder",
    "ScheduleConfig",
    "Term",
    "TrainingConfig",
    "Trajectory",
    "audit",
    "audit_hub",
    "train",
]
