"""Causal language models of Hugging Face: their checkpoints, and their losses token by token.

    trajectory = Trajectory.open("checkpoints", reader=read_pretrained)
    losses = ModuleLosses(AutoModelForCausalLM.from_pretrained(..., attn_implementation="eager"), causal_lm_losses)
    field = priority_field(trajectory, losses, {"layer 0": "gpt_neox.layers.0.*"}, train=tokens, rule="path")

Attention must be eager: the fused kernels cannot be differentiated twice.
"""

from quantascope.models.hugging_face import causal_lm_losses
from quantascope.models.hugging_face import read_weights as read_pretrained

__all__ = ["causal_lm_losses", "read_pretrained"]
