"""`adapt`: a causal language model of Hugging Face as a `ResidualModel`.

The model runs unchanged on the padded grid of tokens, with its own masks and positions. Hooks record the input and
output of each block. To resume at a block, the earlier blocks are skipped and the stream is inserted. The last
hidden state that transformers returns is after the final norm, so it is never used as the stream.
"""

import copy
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.models.grid import spread
from quantascope.models.hugging_face.families import Family, block_prefix, family_of
from quantascope.models.residual import Execution, Interface, InterfaceConfig
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.tasks.events import Events


def adapt(module: nn.Module) -> "HuggingFaceDecoder":
    """A causal language model as a `ResidualModel`; it is put into evaluation mode, which disables dropout.

    The parameters are shared with the model: training one trains the other.
    """
    return HuggingFaceDecoder(module, family_of(module)).eval()


class HuggingFaceDecoder(nn.Module):
    """A Hugging Face causal language model over `Events`."""

    def __init__(self, module: nn.Module, family: Family) -> None:
        super().__init__()
        self.module, self.family = module, family

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self._layers)

    @property
    def width(self) -> int:
        """The width of the stream."""
        return self._embedding.embedding_dim

    def forward(self, events: Events) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event."""
        return self._head(_packed(self._normed(events), events).index_select(0, events.event_rows))

    def run(self, events: Events) -> Execution:
        """A forward pass, returned with the updates of its blocks."""
        with _watched(self._layers) as passed:
            logits = self(events)
        updates = [_packed(left - entered, events) for entered, left in passed]
        return Execution(logits, _packed(passed[0][0], events), updates)

    def resume(
        self, stream: Float[Tensor, "tokens width"], events: Events, *, block: int
    ) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event from a stream that enters a block, or the readout if `block` is `depth`."""
        if not 0 <= block <= self.depth:
            raise InvalidConfig(f"there is no block {block} to resume at; give 0 to {self.depth}")
        if block == self.depth:
            return self._head(self._norm(stream.index_select(0, events.event_rows)))
        with _entering(self._layers, block, spread(stream, events.rows, *events.tokens.shape)):
            return self(events)

    def interface(self) -> Interface:
        """Detached copies of the embeddings and the readout."""
        parts = {"embedding": self._embedding, "norm": self._norm, "head": self._head, "position": self._position}
        tensors = {
            f"{name}.{of}": value
            for name, part in parts.items()
            if part is not None
            for of, value in part.named_parameters()
        }
        return Interface.of(
            tensors,
            positions=self._config.max_position_embeddings,
            config=InterfaceConfig(
                learned_positions=self._position is not None,
                rotary=None if self._position is not None else float(self._config.rope_parameters["rope_theta"]),
                norm=self.family.norm_kind,
                affine="norm.weight" in tensors,
                eps=_epsilon(self._norm),
                head_bias="head.bias" in tensors,
            ),
        )

    def at(self, tensors: Mapping[str, Tensor]) -> "HuggingFaceDecoder":
        """The same network with the weights of another checkpoint."""
        other = copy.deepcopy(self)
        try:
            other.module.load_state_dict(dict(tensors))
        except RuntimeError as error:
            reason = str(error).splitlines()[-1].strip()
            raise DamagedArtefact(
                f"the checkpoint does not fit the {type(self.module).__name__} ({reason}); give one of this model"
            ) from error
        return other

    def _normed(self, events: Events) -> Float[Tensor, "examples length width"]:
        """The stream after all blocks and the final norm."""
        length, known = events.tokens.shape[1], self._config.max_position_embeddings
        if self._position is not None and length > known:
            raise InvalidConfig(f"an example takes {length} positions of {known}; give shorter ones")
        mask = attention_mask(events)
        return self._body(input_ids=events.tokens, attention_mask=mask, use_cache=False).last_hidden_state

    @property
    def _config(self) -> Any:
        return self.module.config

    @property
    def _body(self) -> nn.Module:
        return self.module.get_submodule(self.family.body)

    @property
    def _layers(self) -> nn.ModuleList:
        return cast(nn.ModuleList, self.module.get_submodule(block_prefix(self.family)))

    @property
    def _norm(self) -> nn.Module:
        return self._body.get_submodule(self.family.norm)

    @property
    def _position(self) -> nn.Module | None:
        return self._body.get_submodule(self.family.position) if self.family.position else None

    @property
    def _embedding(self) -> nn.Embedding:
        return cast(Any, self.module).get_input_embeddings()

    @property
    def _head(self) -> nn.Module:
        return cast(Any, self.module).get_output_embeddings()


def _packed(grid: Float[Tensor, "examples length width"], events: Events) -> Float[Tensor, "tokens width"]:
    """The rows of the valid tokens."""
    return grid.flatten(0, 1).index_select(0, events.rows)


def attention_mask(events: Events) -> Int[Tensor, "examples length"]:
    """1 for the valid tokens, 0 for padding."""
    place = torch.arange(events.tokens.shape[1], device=events.tokens.device)
    return (place < events.length.unsqueeze(1)).long()


def _epsilon(norm: nn.Module) -> float:
    """The epsilon that a norm adds to the variance; hard-coded in OLMo-1."""
    return float(getattr(norm, "variance_epsilon", getattr(norm, "eps", 1e-5)))


@contextmanager
def _watched(layers: nn.ModuleList) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Context manager that records the input and output of each block."""
    passed: list[tuple[Tensor, Tensor]] = []

    def note(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Tensor) -> None:
        passed.append((args[0] if args else kwargs["hidden_states"], output))

    with ExitStack() as stack:
        for layer in layers:
            handle = layer.register_forward_hook(note, with_kwargs=True)
            stack.callback(handle.remove)
        yield passed


@contextmanager
def _entering(layers: nn.ModuleList, block: int, stream: Float[Tensor, "examples length width"]) -> Iterator[None]:
    """Context manager that inserts a stream at a block and skips the earlier blocks."""

    def put(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return ((stream, *args[1:]), kwargs) if args else ((), {**kwargs, "hidden_states": stream})

    with ExitStack() as stack:
        for layer in list(layers)[:block]:
            # Hooks cannot skip a block; this instance attribute hides the method of its class.
            own = {name: value for name, value in vars(layer).items() if name == "forward"}
            vars(layer)["forward"] = lambda hidden_states, *_, **__: hidden_states
            stack.callback(vars(layer).update, own)
            stack.callback(vars(layer).pop, "forward")
        handle = layers[block].register_forward_pre_hook(put, with_kwargs=True)
        stack.callback(handle.remove)
        yield
