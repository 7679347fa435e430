"""The decoder-only Transformer of the discovery and program pipelines (paper, section 5; appendix G).

Pre-LN blocks with biases, exact GELU, learned absolute positions, an untied head. It reads `Events` and works on
valid tokens alone: padding costs nothing but a place in the attention grid, and where only predictions are
wanted, the last block runs on the predicting rows alone. What each block adds to the stream is exposed.

Attention is an explicit softmax, since the fused kernels cannot be differentiated twice.
"""

import math
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import model_validator
from torch import Tensor, nn

from quantascope.models.device import noise_like
from quantascope.models.drawing import Start, drawing
from quantascope.models.grid import Grid, Queries, grid_of, spread
from quantascope.models.hidden_units import hidden_unit_groups
from quantascope.models.residual import Execution, Interface
from quantascope.runs.config import Config, Depth, Positive, Width
from quantascope.tasks.events import PAD, Events


class TransformerConfig(Config):
    """Shape of a Transformer and how its weights are drawn.

    The `paper` initialisation draws attention as `nn.MultiheadAttention` does, in its order, so that a seed
    gives the weights that the paper's authors had.
    """

    LATER: ClassVar[tuple[str, ...]] = ("initialization",)

    blocks: Depth = 3
    width: Width = 32
    heads: Positive = 1
    hidden: Width = 64
    initialization: Literal["default", "paper"] = "default"

    @model_validator(mode="after")
    def _refuse_split(self) -> "TransformerConfig":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads")
        return self

    @property
    def activations(self) -> int:
        """Numbers that a backward pass needs for each token: six of the stream and two of the MLP per block."""
        return self.blocks * (6 * self.width + 2 * self.hidden)

    @property
    def size(self) -> str:
        """The settings that make a network large, for messages."""
        return f"a Transformer of blocks={self.blocks}, width={self.width}, hidden={self.hidden}"


class Transformer(nn.Module):
    """A decoder-only Transformer over `Events`.

    >>> model = Transformer(vocabulary=44, positions=20, config=TransformerConfig(blocks=3), seed=0)
    >>> sum(parameter.numel() for parameter in model.parameters())
    29196
    >>> events = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2]], outputs=[[20, 3], [21, 22, 3]])
    >>> model(events).shape
    torch.Size([5, 44])
    >>> [tuple(update.shape) for update in model.run(events).updates]
    [(10, 32), (10, 32), (10, 32)]
    """

    def __init__(self, *, vocabulary: int, positions: int, config: TransformerConfig, seed: Start) -> None:
        super().__init__()
        self.vocabulary, self.positions, self.config = vocabulary, positions, config
        with drawing(seed):
            self.embedding = nn.Embedding(vocabulary, config.width, padding_idx=PAD)
            self.position = nn.Embedding(positions, config.width)
            self.blocks = nn.ModuleList(Block(config) for _ in range(config.blocks))
            self.norm = nn.LayerNorm(config.width)
            self.head = nn.Linear(config.width, vocabulary)

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return self.config.blocks

    @property
    def width(self) -> int:
        """The width of the stream."""
        return self.config.width

    def forward(self, events: Events) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event."""
        return self.run(events, predictions_only=True).logits

    def run(self, events: Events, *, predictions_only: bool = False, noise: float = 0.0) -> Execution:
        """A forward pass with the updates of its blocks; optional Gaussian `noise` is added after each block."""
        grid = grid_of(events)
        stream = self.embed(grid)
        hidden, updates = stream, []
        for block in self.blocks[:-1]:
            updates.append(block(hidden, grid, grid.all_rows))
            hidden = _disturbed(hidden + updates[-1], noise)
        rows = grid.event_rows if predictions_only else grid.all_rows
        updates.append(self.blocks[-1](hidden, grid, rows))
        asked = hidden.index_select(0, rows.row) if predictions_only else hidden
        hidden = _disturbed(asked + updates[-1], noise)
        logits = self.head(self.norm(hidden if predictions_only else hidden.index_select(0, grid.event_rows.row)))
        return Execution(logits, stream, updates)

    def resume(
        self, stream: Float[Tensor, "tokens width"], events: Events, *, block: int
    ) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event from a stream that enters a block, or the readout if `block` is `depth`."""
        grid = grid_of(events)
        for later in self.blocks[block:]:
            stream = stream + later(stream, grid, grid.all_rows)
        return self.head(self.norm(stream[events.event_rows]))

    def interface(self) -> Interface:
        """Detached copies of the embeddings and the readout."""
        return Interface.of(self.state_dict(), positions=self.positions)

    def embed(self, grid: Grid) -> Float[Tensor, "tokens width"]:
        """Token plus position, for every valid token."""
        return self.embedding(grid.token) + self.position(grid.position)


def _disturbed(hidden: Float[Tensor, "tokens width"], noise: float) -> Float[Tensor, "tokens width"]:
    return hidden + noise * noise_like(hidden) if noise else hidden


class Block(nn.Module):
    """Attention, then a two-layer MLP, each on a normalised stream; returns what it adds."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(width)
        if config.initialization == "paper":
            self.query, self.key_value, self.out = _attention_as_in_torch(width)
        else:
            self.query = nn.Linear(width, width)
            self.key_value = nn.Linear(width, 2 * width)
            self.out = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, config.hidden)
        self.down = nn.Linear(config.hidden, width)

    def forward(
        self, hidden: Float[Tensor, "tokens width"], grid: Grid, queries: Queries
    ) -> Float[Tensor, "queries width"]:
        """The update of the rows that ask."""
        read = self.attend(self.attention_norm(hidden), grid, queries)
        middle = (hidden if queries is grid.all_rows else hidden.index_select(0, queries.row)) + read
        return read + self.down(nn.functional.gelu(self.up(self.mlp_norm(middle))))

    def attend(
        self, normed: Float[Tensor, "tokens width"], grid: Grid, queries: Queries
    ) -> Float[Tensor, "queries width"]:
        """What the asking rows read from the rows before them."""
        examples, asking, length = queries.bias.shape
        asked = normed if queries is grid.all_rows else normed.index_select(0, queries.row)
        query = spread(self.query(asked), queries.slot, examples, asking)
        key, value = spread(self.key_value(normed), grid.slot, examples, length).chunk(2, -1)
        if self.heads == 1:
            read = read_memory(query, key, value, queries.bias)
        else:
            heads = zip(*(x.chunk(self.heads, -1) for x in (query, key, value)), strict=True)
            read = torch.cat([read_memory(q, k, v, queries.bias) for q, k, v in heads], -1)
        return self.out(read.flatten(0, 1).index_select(0, queries.slot))


def _attention_as_in_torch(width: int) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    """Query, key with value, and output maps with the weights of a fresh `nn.MultiheadAttention`."""
    drawn = nn.MultiheadAttention(width, 1)
    with torch.random.fork_rng(devices=[]):
        maps = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
    into = drawn.in_proj_weight.split([width, 2 * width])
    with torch.no_grad():
        for own, weight in zip(maps, (*into, drawn.out_proj.weight), strict=True):
            own.weight.copy_(weight)
            own.bias.zero_()
    return maps


def read_memory(
    query: Float[Tensor, "examples queries width"],
    key: Float[Tensor, "examples length width"],
    value: Float[Tensor, "examples length value"],
    bias: Float[Tensor, "examples queries length"],
) -> Float[Tensor, "examples queries value"]:
    """One head: softmax of scaled products, closed where the bias is -inf."""
    scale = 1 / math.sqrt(query.shape[-1])
    return torch.baddbmm(bias, query, key.transpose(1, 2), alpha=scale).softmax(-1) @ value


def hidden_units(config: TransformerConfig) -> dict[str, dict[str, Int[np.ndarray, " entries"]]]:
    """For each block the parameters of its MLP, and the hidden unit of each of their entries."""
    width, hidden = config.width, config.hidden
    groups = hidden_unit_groups(inputs=width, hidden=hidden, outputs=width)
    parts = dict(zip(_MLP, np.split(groups, np.cumsum([width * hidden, hidden, width * hidden])), strict=True))
    return {
        f"block {block}": {f"blocks.{block}.{name}": own for name, own in parts.items()}
        for block in range(config.blocks)
    }


_MLP = ("up.weight", "up.bias", "down.weight", "down.bias")
