"""Families of Hugging Face decoders: the location of blocks, final norm and hidden units.

A new family is one entry. Its blocks must add to one stream; embeddings and head are those that
`get_input_embeddings` and `get_output_embeddings` give.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import nn

from quantascope.runs.errors import InvalidConfig


@dataclass(frozen=True, kw_only=True)
class Family:
    """Names of a decoder's parts: of `body` within the model, of the others within the body or within a block.

    `inward` maps lead to the hidden units of a block's MLP (two if it is gated), `outward` leads away from them;
    their weights are `transposed` if they are [inputs, outputs], unlike those of `nn.Linear`. Without a learned
    `position` embedding, positions are rotary. `older` holds prefixes of tensor names in older checkpoints.
    """

    body: str
    layers: str
    norm: str
    norm_kind: Literal["layer", "rms"]
    inward: tuple[str, ...]
    outward: str
    position: str | None = None
    transposed: bool = False
    older: Mapping[str, str] = field(default_factory=dict)


GPT2 = Family(
    body="transformer",
    layers="h",
    norm="ln_f",
    norm_kind="layer",
    inward=("mlp.c_fc",),
    outward="mlp.c_proj",
    position="wpe",
    transposed=True,
)
GPT_NEOX = Family(
    body="gpt_neox",
    layers="layers",
    norm="final_layer_norm",
    norm_kind="layer",
    inward=("mlp.dense_h_to_4h",),
    outward="mlp.dense_4h_to_h",
    older={"embed_out.": "lm_head."},
)
LLAMA = Family(
    body="model",
    layers="layers",
    norm="norm",
    norm_kind="rms",
    inward=("mlp.gate_proj", "mlp.up_proj"),
    outward="mlp.down_proj",
)
OLMO = Family(
    body="model",
    layers="layers",
    norm="norm",
    norm_kind="layer",
    inward=LLAMA.inward,
    outward=LLAMA.outward,
)
FAMILIES: dict[str, Family] = {
    "gpt2": GPT2,
    "gpt_neox": GPT_NEOX,
    "llama": LLAMA,
    "mistral": LLAMA,
    "olmo": OLMO,
    "olmo2": LLAMA,
    "qwen2": LLAMA,
    "qwen3": LLAMA,
}
"""By `model_type`, as a checkpoint's config.json has it."""


def family_of(module: nn.Module) -> Family:
    """The family of a causal language model."""
    config: Any = getattr(module, "config", None)
    kind = getattr(config, "model_type", None)
    known = ", ".join(FAMILIES)
    if kind not in FAMILIES:
        what = f"a model of type '{kind}'" if kind else f"{type(module).__name__}, which has no config.model_type,"
        raise InvalidConfig(
            f"{what} has no adapter; there are adapters for {known}; for another model write a "
            "ResidualModel (quantascope.models.residual)"
        )
    family = FAMILIES[kind]
    if not hasattr(module, family.body) or module.get_output_embeddings() is None:  # pyright: ignore[reportCallIssue]
        raise InvalidConfig(
            f"{type(module).__name__} is not a full language model; load it with AutoModelForCausalLM"
        )
    return family


def layers_of(module: nn.Module) -> dict[str, str]:
    """The blocks of a causal language model: for each a pattern of the names of its parameters."""
    prefix = block_prefix(family_of(module))
    return {f"block {block}": f"{prefix}.{block}.*" for block in range(len(module.get_submodule(prefix)))}  # pyright: ignore[reportArgumentType]


def block_prefix(family: Family) -> str:
    """What the names of all parameters in blocks begin with."""
    return f"{family.body}.{family.layers}"
