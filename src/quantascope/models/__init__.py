"""The networks: an MLP for sparse parity, a Transformer for sequences."""

from quantascope.models.cohort import Cohort
from quantascope.models.mlp import MLPConfig, MuMLPConfig, TaskMLP, logits
from quantascope.models.predictions import Predictions, decode, predict
from quantascope.models.residual import Execution, Interface, InterfaceConfig, ResidualModel, TrainableModel
from quantascope.models.transformer import Transformer, TransformerConfig

__all__ = [
    "Cohort",
    "Execution",
    "Interface",
    "InterfaceConfig",
    "MLPConfig",
    "MuMLPConfig",
    "Predictions",
    "ResidualModel",
    "TaskMLP",
    "TrainableModel",
    "Transformer",
    "TransformerConfig",
    "decode",
    "logits",
    "predict",
]
