"""Causal language models of Hugging Face: as residual models, by their blocks, losses and checkpoints.

    module = load_pretrained("checkpoints/step1000")
    model = adapt(module)                                       a `ResidualModel`
    losses = ModuleLosses(module, causal_lm_losses)             for a priority field over `layers_of(module)`
    earlier = model.at(read_weights(shards))                    the same network at another checkpoint

Nothing here imports transformers until a checkpoint is read.
"""

from quantascope.models.hugging_face.decoder import HuggingFaceDecoder, adapt
from quantascope.models.hugging_face.families import FAMILIES, Family, family_of, layers_of
from quantascope.models.hugging_face.hidden_units import mlp_groups
from quantascope.models.hugging_face.losses import causal_lm_losses
from quantascope.models.hugging_face.pretrained import (
    load_pretrained,
    model_of,
    read_weights,
    save_pretrained,
)

__all__ = [
    "FAMILIES",
    "Family",
    "HuggingFaceDecoder",
    "adapt",
    "causal_lm_losses",
    "family_of",
    "layers_of",
    "load_pretrained",
    "mlp_groups",
    "model_of",
    "read_weights",
    "save_pretrained",
]
