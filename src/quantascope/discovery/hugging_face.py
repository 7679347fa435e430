"""Causal language models of Hugging Face: their checkpoints, and their losses token by token.

    trajectory = Trajectory.open("checkpoints", reader=read_pretrained)
    losses = ModuleLosses(AutoModelForCausalLM.from_pretrained(..., attn_implementation="eager"), causal_lm_losses)
    field = priority_field(trajectory, losses, {"layer 0": "gpt_neox.layers.0.*"}, train=tokens, rule="path")

Attention must be eager: the fused kernels cannot be differentiated twice.
"""

import importlib
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.training.trajectory import Shards


def read_pretrained(shards: Shards) -> dict[str, Tensor]:
    """The parameters of a saved model, named as in the model; on disk they may have other names."""
    try:
        transformers = importlib.import_module("transformers")  # which no type checker should read
    except ImportError:
        raise InvalidConfig("transformers is not installed; pip install 'quantascope[transformers]'") from None
    folder = shards[0].parent
    if not (folder / "config.json").is_file():
        raise DamagedArtefact(
            f"{folder} has no config.json, so it is no saved model; save checkpoints with save_pretrained, or "
            "open them without read_pretrained"
        )
    # A bar for each of many checkpoints, each of which is read several times, would bury everything else.
    bars = transformers.utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        return transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()
    finally:
        if shown:
            bars.enable_progress_bar()


def causal_lm_losses(model: Any, tokens: Int[Tensor, "rows length"]) -> Float[Tensor, " events"]:
    """Cross-entropy of every token but the first of each row, in nats; rows are whole, without padding."""
    logits = model(input_ids=tokens, use_cache=False).logits[:, :-1]
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
