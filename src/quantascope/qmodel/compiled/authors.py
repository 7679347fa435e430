"""Weights of a compiled Q-model in the order of the paper's released code, so that its seeds give its networks.

quanta           one after another in order of their names: both maps of the MLP, then the gate
query biases     zero
semantic heads   after the Q-model, in order of the quanta's names, as wide as a quantum has outputs; these are
                 in order of their JSON text
"""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from quantascope.qmodel.cell import Cells


@torch.no_grad()
def authors_cells(names: Sequence[str], width: int) -> Cells:
    """Cells of quanta with these names, drawn in order of the names."""
    with torch.random.fork_rng(devices=[]):
        cells = Cells(quanta=len(names), width=width)
    maps = ((cells.up, cells.up_bias), (cells.down, cells.down_bias), (cells.gate, cells.gate_bias))
    for row in sorted(range(len(names)), key=names.__getitem__):
        for weight, bias in maps:
            drawn = nn.Linear(width, weight.shape[-1])
            weight[row].copy_(drawn.weight.T)
            bias[row, 0].copy_(drawn.bias)
    return cells


@torch.no_grad()
def authors_heads(
    names: Mapping[int, str], places: Mapping[int, Sequence[int]], width: int, most: int
) -> tuple[Float[Tensor, "taught width outcomes"], Float[Tensor, "taught 1 outcomes"]]:
    """Weights and biases of the semantic heads of the quanta in `places`, padded with zeros to `most` outputs.

    `places` gives for each quantum the place of each of its outputs in the authors' order.
    """
    weight, bias = torch.zeros(len(places), width, most), torch.zeros(len(places), 1, most)
    row = {quantum: number for number, quantum in enumerate(places)}
    for quantum in sorted(places, key=names.__getitem__):
        drawn, place = nn.Linear(width, len(places[quantum])), list(places[quantum])
        weight[row[quantum], :, : len(place)] = drawn.weight[place].T
        bias[row[quantum], 0, : len(place)] = drawn.bias[place]
    return weight, bias


def output_places(values: Sequence[Any]) -> list[int]:
    """The place of each output among all, in order of their JSON text; members of an enumeration go by name.

    >>> output_places([2, 1, 11])
    [2, 0, 1]
    """
    text = [json.dumps(value.name if isinstance(value, Enum) else value) for value in values]
    return [sorted(text).index(one) for one in text]
