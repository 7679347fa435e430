"""`ResidualModel`: the interface of a sequence model that fit, trace, intervene and guide need.

Such a model embeds its tokens, lets each of its blocks add to the stream, and reads logits out of the stream:

    stream_0 = embed(tokens);  stream_{b+1} = stream_b + update_b(stream_b);  logits = read_out(stream_depth)

`Transformer` is one, and `hugging_face.adapt` makes one of a Hugging Face decoder. Measuring a priority field
needs none of this.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from quantascope.models.grid import Grid
from quantascope.runs.config import Config, PositiveFloat
from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class Execution:
    """One forward pass: logits of every event, the embedded tokens, and what each block added to them.

    `stream` and `updates` have a row per valid token (`Events.rows`); of the last block, if only predictions
    were asked for, a row per event.
    """

    logits: Float[Tensor, "events vocabulary"]
    stream: Float[Tensor, "tokens width"]
    updates: list[Float[Tensor, "_ width"]]


class InterfaceConfig(Config):
    """How a source embeds and reads out.

    `rotary` is the base of its rotary positions. OLMo-1's norm is a LayerNorm that is not `affine`.
    """

    learned_positions: bool = True
    rotary: PositiveFloat | None = None
    embedding_scale: PositiveFloat = 1.0
    norm: Literal["layer", "rms"] = "layer"
    affine: bool = True
    eps: PositiveFloat = 1e-5
    head_bias: bool = True


class Interface(nn.Module):
    """The parts of a source that a Q-model uses unchanged: embeddings and readout.

    `positions` is the number of positions of the source, learned or not.
    """

    def __init__(
        self, *, vocabulary: int, positions: int, width: int, config: InterfaceConfig | None = None
    ) -> None:
        super().__init__()
        config = config or InterfaceConfig()
        self.vocabulary, self.positions, self.width, self.config = vocabulary, positions, width, config
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(positions, width) if config.learned_positions else None
        norm = nn.LayerNorm if config.norm == "layer" else nn.RMSNorm
        self.norm = norm(width, eps=config.eps, elementwise_affine=config.affine)
        self.head = nn.Linear(width, vocabulary, bias=config.head_bias)
        self.requires_grad_(False)

    @classmethod
    def of(
        cls, tensors: Mapping[str, Tensor], *, positions: int, config: InterfaceConfig | None = None
    ) -> "Interface":
        """An interface that holds copies of tensors, named as in its state dict; others are left out."""
        vocabulary, width = tensors["embedding.weight"].shape
        with torch.device("meta"):
            one = cls(vocabulary=vocabulary, positions=positions, width=width, config=config)
        own = {name: tensors[name].detach().clone() for name in one.state_dict()}
        one.load_state_dict(own, assign=True)
        return one.requires_grad_(False)

    def embed(self, grid: Grid) -> Float[Tensor, "tokens width"]:
        """Token plus position, for every valid token."""
        token = self.embedding(grid.token)
        if self.config.embedding_scale != 1.0:
            token = self.config.embedding_scale * token
        return token if self.position is None else token + self.position(grid.position)

    def read_out(self, stream: Float[Tensor, "events width"]) -> Float[Tensor, "events vocabulary"]:
        """Logits from the stream."""
        return self.head(self.norm(stream))


@runtime_checkable
class ResidualModel(Protocol):
    """A sequence model whose blocks add to one stream; `depth` is their number, `width` that of the stream."""

    @property
    def depth(self) -> int: ...

    @property
    def width(self) -> int: ...

    def run(self, events: Events) -> Execution:
        """A forward pass, returned with the updates of its blocks."""
        ...

    def resume(
        self, stream: Float[Tensor, "tokens width"], events: Events, *, block: int
    ) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event from a stream that enters a block, or the readout if `block` is `depth`."""
        ...

    def interface(self) -> Interface:
        """Detached copies of the embeddings and the readout."""
        ...

    def __call__(self, events: Events) -> Tensor:
        """Logits of every event."""
        ...


@runtime_checkable
class TrainableModel(ResidualModel, Protocol):
    """A `ResidualModel` that is a torch module, so that it can be trained and saved."""

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any: ...

    def to(self, device: torch.device) -> Any: ...

    def train(self) -> Any: ...

    def eval(self) -> Any: ...
