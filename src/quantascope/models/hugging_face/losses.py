"""Losses of a causal language model of Hugging Face, event by event."""

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.models.hugging_face.decoder import attention_mask
from quantascope.tasks.events import Events


def causal_lm_losses(model: Any, batch: Events | Int[Tensor, "rows length"]) -> Float[Tensor, " events"]:
    """Cross-entropy of every event, in nats.

    In a batch of tokens every row is whole, and every token but its first is an event. Fused attention
    cannot be differentiated twice; a priority field takes central differences there.
    """
    if isinstance(batch, Events):
        output = model(input_ids=batch.tokens, attention_mask=attention_mask(batch), use_cache=False)
        logits, target = output.logits[batch.example, batch.position], batch.target
    else:
        logits = model(input_ids=batch, use_cache=False).logits[:, :-1].flatten(0, 1)
        target = batch[:, 1:].flatten()
    return nn.functional.cross_entropy(logits, target, reduction="none")
