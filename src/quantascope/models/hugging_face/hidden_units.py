"""The hidden units of each block's MLP: which entry of which parameter belongs to which unit.

A unit owns its incoming weights (two sets where the MLP is gated), its biases, and its outgoing weights. The
output bias belongs to no unit and is one more group. Packet complexity counts these groups.
"""

import numpy as np
from jaxtyping import Int
from torch import Tensor, nn

from quantascope.models.hugging_face.families import block_prefix, family_of, layers_of

Groups = dict[str, Int[np.ndarray, " entries"]]
"""For each parameter, by name, the group of each of its entries in flattened order."""


def mlp_groups(module: nn.Module) -> dict[str, Groups]:
    """For each block, as `layers_of` names it, the parameters of its MLP and their groups."""
    prefix = block_prefix(family_of(module))
    return {name: _block_groups(module, f"{prefix}.{block}") for block, name in enumerate(layers_of(module))}


def _block_groups(module: nn.Module, block: str) -> Groups:
    family = family_of(module)
    inward, outward = (-1, 0) if family.transposed else (0, -1)
    own: Groups = {}
    for path in family.inward:
        for name, tensor in _parameters(module, f"{block}.{path}").items():
            own[name] = _along(tensor, inward if tensor.ndim == 2 else 0)
    units = module.get_parameter(f"{block}.{family.outward}.weight").shape[outward]
    for name, tensor in _parameters(module, f"{block}.{family.outward}").items():
        own[name] = _along(tensor, outward) if tensor.ndim == 2 else np.full(len(tensor), units)
    return own


def _parameters(module: nn.Module, part: str) -> dict[str, Tensor]:
    """The weight of a linear map, then its bias if it has one."""
    return {f"{part}.{name}": tensor for name, tensor in module.get_submodule(part).named_parameters()}


def _along(weight: Tensor, axis: int) -> Int[np.ndarray, " entries"]:
    """The index of each entry along an axis."""
    index = np.arange(weight.shape[axis])
    column = weight.ndim == 2 and axis == 0
    return np.broadcast_to(index[:, None] if column else index, weight.shape).reshape(-1)
