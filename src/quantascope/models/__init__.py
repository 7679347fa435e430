"""The networks: an MLP for sparse parity, a Transformer for sequences."""

from quantascope.models.mlp import MLPConfig, TaskMLP, logits
from quantascope.models.predictions import Predictions, decode, predict
from quantascope.models.transformer import Execution, Transformer, TransformerConfig

__all__ = [
    "Execution",
    "MLPConfig",
    "Predictions",
    "TaskMLP",
    "Transformer",
    "TransformerConfig",
    "decode",
    "logits",
    "predict",
]
