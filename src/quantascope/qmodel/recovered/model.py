"""The executable Q-model of a residual model: its factors as gated banks of scalar writers (paper, section 5.1).

For quantum q of layer ℓ, at every token, with embedded stream h0:

    h_q = h0 + Σ messages of selected parents            all of earlier layers
    c_q = causal read of LN(h_q), one head of the layer  low-rank queries and keys, read only by gates and writers;
                                                         rotary if the source's positions are
    g_q = 1[w·LN(h_q) + u·c_q + b > 0]                   the gate
    s_w = a_w·LN(h_q) + k_w·c_q + b_w                    each writer w of q; γ_w = 1[s_w > threshold], φ_w = s_w
    m_q = existence_q g_q Σ_w γ_w φ_w v_w                the message; v_w has length one

This is the paper's form; `block_form` has another. The update of layer ℓ is the sum of its quanta's messages;
logits are the source's own readout of h0 + all updates. Existence is the degree to which a quantum is acquired at
the replayed checkpoint: 1 in the finished model. Gates, writers and channels are hard in the forward pass and soft
in the backward pass. The quanta of one layer are computed at once.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from quantascope.models.grid import Grid, grid_of
from quantascope.models.residual import Interface
from quantascope.models.transformer import read_memory
from quantascope.qmodel.cell import gated_message, routed_stream
from quantascope.qmodel.recovered.block_form import BlockForm
from quantascope.qmodel.recovered.channels import Channels, straight_through
from quantascope.qmodel.recovered.rows import selected_rows
from quantascope.qmodel.recovered.surgery import NO_SURGERY, Surgery
from quantascope.qmodel.rotary import rotated
from quantascope.quanta.graph import QGraph
from quantascope.runs.config import Config, PositiveFloat, Width
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events


class RecoveredConfig(Config):
    """Shape of a recovered Q-model; layers and quanta come from the factors.

    With `gate_gradients`, reconstruction and predictions also train the gates; the paper detaches them. The
    `paper` initialisation uses the scales of the paper's code: gates ignore the read, and every writer gets its
    plain sum. The `block` form adds a linear way from what is read to the message.
    """

    LATER: ClassVar[tuple[str, ...]] = ("initialization", "form")

    writers: Width = 3
    rank: Width = 8
    value: Width = 16
    threshold: PositiveFloat = 0.1
    bandwidth: PositiveFloat = 0.1
    channel_start: Annotated[float, Field(ge=-100, le=100)] = 1.0
    gate_gradients: bool = False
    initialization: Literal["default", "paper"] = "default"
    form: Literal["paper", "block"] = "paper"


@dataclass(frozen=True, eq=False)
class RecoveredExecution:
    """One forward pass over the valid tokens, quanta in their order.

    `gate` are logits; `active` and `opened` are gates and writers as executed; a writer is closed if its gate is.
    `activity` is the size of each writer's output.
    """

    logits: Float[Tensor, "events vocabulary"]
    updates: list[Float[Tensor, "tokens width"]]
    gate: Float[Tensor, "quanta tokens"]
    active: Float[Tensor, "quanta tokens"]
    opened: Float[Tensor, "quanta tokens writers"]
    activity: Float[Tensor, "quanta tokens writers"]
    messages: list[Float[Tensor, "_ tokens width"]]
    channel_probability: Float[Tensor, " channels"]

    @property
    def message(self) -> Float[Tensor, "quanta tokens width"]:
        """The messages of all quanta."""
        return torch.cat(self.messages)


class RecoveredQModel(nn.Module):
    """A Q-model over `Events`, with `layers[q]` the source layer of quantum q.

    >>> source = Interface(vocabulary=44, positions=20, width=32)
    >>> layers = (0,) * 5 + (1,) * 4 + (2,) * 4
    >>> model = RecoveredQModel(layers=layers, blocks=3, interface=source, config=RecoveredConfig(), seed=0)
    >>> model.parameter_count, model.writers, model.channels.count
    (10432, 39, 56)
    >>> events = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2]], outputs=[[20, 3], [21, 22, 3]])
    >>> model(events).shape
    torch.Size([5, 44])
    """

    def __init__(
        self, *, layers: tuple[int, ...], blocks: int, interface: Interface, config: RecoveredConfig, seed: int
    ) -> None:
        super().__init__()
        if not layers:
            raise InvalidConfig("there are no factors, so no quanta; lower the threshold of quantascope discover")
        if list(layers) != sorted(layers) or layers[-1] >= blocks:
            raise InvalidConfig(f"the quanta's layers {layers} are not in order within {blocks} blocks; sort them")
        self.layers, self.blocks, self.config = layers, blocks, config
        starts = [sum(layer < block for layer in layers) for block in range(blocks + 1)]
        self._ranges = [slice(first, after) for first, after in itertools.pairwise(starts)]
        self.interface = interface
        quanta, width = len(layers), interface.width
        inputs = width if config.form == "block" else width + config.value
        self.channels = Channels(torch.tensor(layers), start=config.channel_start)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.read = nn.Parameter(_uniform(blocks, width, 2 * config.rank + config.value, fan_in=width))
            self.gate = nn.Parameter(_uniform(quanta, inputs, 1, fan_in=inputs))
            self.gate_bias = nn.Parameter(torch.zeros(quanta, 1, 1))
            self.score = nn.Parameter(_uniform(quanta, inputs, config.writers, fan_in=inputs))
            self.score_bias = nn.Parameter(torch.zeros(quanta, 1, config.writers))
            self.direction = nn.Parameter(torch.randn(quanta, config.writers, width))
            self.block_form = None
            if config.form == "block":
                self.block_form = BlockForm(
                    blocks=blocks, quanta=quanta, width=width, rank=config.rank, value=config.value
                )
            if config.initialization == "paper":
                self._initialise_as_authors()

    @torch.no_grad()
    def _initialise_as_authors(self) -> None:
        """Gaussian weights on the stream; gates ignore the read, and writers get its sum."""
        width = self.interface.width
        for own, of_read in ((self.gate, 0.0), (self.score, 1.0)):
            own[:, :width].normal_(std=1 / math.sqrt(width))
            own[:, width:].fill_(of_read)
        self.read.normal_(std=1 / math.sqrt(width))
        self.direction.normal_(std=_DIRECTION)

    @property
    def parameter_count(self) -> int:
        """Number of parameters, including those taken from the source, without the channel logits."""
        return sum(parameter.numel() for parameter in self.parameters()) - self.channels.logit.numel()

    @property
    def writers(self) -> int:
        """Number of writers."""
        return len(self.layers) * self.config.writers

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each quantum: its layer, and its number within it."""
        return tuple(f"L{layer}.Q{self.layers[:place].count(layer)}" for place, layer in enumerate(self.layers))

    @property
    def writer_names(self) -> tuple[tuple[str, ...], ...]:
        """The names of each quantum's writers, which are numbered within the layer."""
        own = range(self.config.writers)
        first = [self.config.writers * int(name.rpartition("Q")[2]) for name in self.names]
        return tuple(tuple(f"{name}.W{at + i}" for i in own) for name, at in zip(self.names, first, strict=True))

    @property
    def graph(self) -> QGraph:
        """Quanta and the selected channels."""
        return QGraph(self.names, self.channels.edges)

    @property
    def directions(self) -> Float[Tensor, "quanta writers width"]:
        """The unit direction of each writer."""
        return nn.functional.normalize(self.direction, dim=-1)

    def forward(self, events: Events) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event."""
        return self.run(events).logits

    def run(
        self,
        events: Events,
        *,
        interface: Interface | None = None,
        existence: Float[Tensor, " quanta"] | None = None,
        frozen_channels: bool = False,
        surgery: Surgery = NO_SURGERY,
    ) -> RecoveredExecution:
        """A forward pass, optionally with an earlier checkpoint's interface and existence, or under surgery."""
        grid, interface = grid_of(events), interface or self.interface
        start = interface.embed(grid)
        channels, probability = self.channels(), self.channels.probability
        if frozen_channels:
            channels, probability = channels.detach(), probability.detach()
        channels = surgery.on_channels(channels)
        exists = start.new_ones(len(self.layers)) if existence is None else existence
        directions = self.directions
        parts: list[tuple[Tensor, ...]] = []
        messages: list[Tensor] = []
        for block, which in enumerate(self._ranges):
            received = surgery.on_messages(messages)
            reached = channels[which, : which.start]
            if self.block_form is not None and frozen_channels and (reached == reached[:1]).all():
                reached = reached[:1]  # one stream for all; trained channels need their own gradients
            state = routed_stream(start, reached, received)
            gate, score, passed = self._gates_and_scores(state, block, which, grid, exists[which])
            active = surgery.on_gates(straight_through(gate > 0, gate.sigmoid()), which)
            gating = active if self.config.gate_gradients else active.detach()
            soft = ((score - self.config.threshold) / self.config.bandwidth).sigmoid()
            jump = surgery.on_writers(straight_through(score > self.config.threshold, soft), which)
            message = gated_message(gating * exists[which, None], jump * score) @ directions[which]
            if passed is not None:
                message = message + gated_message(gating * exists[which, None], passed)
            opened = jump * gating.detach()[:, :, None]
            activity = (opened * score * exists[which, None, None]).detach()
            parts.append((gate, active, opened, activity))
            messages.append(message)
        updates = [message.sum(0) for message in messages]
        final = selected_rows(sum(updates, start), events.event_rows)
        gates, active, opened, activity = (torch.cat(part) for part in zip(*parts, strict=True))
        return RecoveredExecution(
            interface.read_out(final), updates, gates, active, opened, activity, messages, probability
        )

    def _gates_and_scores(
        self,
        state: Float[Tensor, "_ tokens width"],
        block: int,
        which: slice,
        grid: Grid,
        exists: Float[Tensor, " _"],
    ) -> tuple[
        Float[Tensor, "quanta tokens"],
        Float[Tensor, "quanta tokens writers"],
        Float[Tensor, "quanta tokens width"] | None,
    ]:
        """Gate logits, writer scores, and what a layer's quanta pass on; a stream shared by all is read once."""
        normed = nn.functional.layer_norm(state, state.shape[-1:])
        read = self._read(normed, block, grid, exists)
        if self.block_form is None:
            seen, passed = torch.cat([normed, read], -1), None
        else:
            seen = self.block_form.added(state, read, block)
            passed = self.block_form.passed_on(read, block, which)
        weight = torch.cat([self.gate[which], self.score[which]], -1)
        bias = torch.cat([self.gate_bias[which], self.score_bias[which]], -1)
        if len(seen) == len(weight):
            scores = torch.baddbmm(bias, seen, weight)
        else:
            flat = seen[0] @ weight.transpose(0, 1).flatten(1)
            scores = flat.unflatten(1, (len(weight), weight.shape[-1])).transpose(0, 1) + bias
        return scores[..., 0], scores[..., 1:], passed

    def _read(
        self, normed: Float[Tensor, "streams tokens width"], block: int, grid: Grid, exists: Float[Tensor, " _"]
    ) -> Float[Tensor, "streams tokens value"]:
        """The values that each stream reads from its tokens so far, through the layer's head."""
        streams = len(normed)
        examples, length, _ = grid.all_rows.bias.shape
        projected = normed @ self.read[block]
        if self.block_form is not None:
            projected = self.block_form.projected(projected, block, exists)
        padded = projected.new_zeros(streams, examples * length, projected.shape[-1])
        padded = padded.index_copy(1, grid.slot, projected).reshape(streams * examples, length, -1)
        query, key, value = padded.split([self.config.rank, self.config.rank, self.config.value], -1)
        base = self.interface.config.rotary
        if base is not None:
            query, key = rotated(query, base), rotated(key, base)
        # The causal mask is the same in every example, so the bias is one matrix, never copied.
        bias = grid.all_rows.bias[:1].expand(streams * examples, -1, -1)
        read = read_memory(query, key, value, bias)
        return selected_rows(read.reshape(streams, examples * length, -1), grid.slot, dim=1)


_DIRECTION = 0.02
"""Initial norm of a writer's direction in the paper's code; shorter directions turn faster."""


def _uniform(*shape: int, fan_in: int) -> Tensor:
    bound = 1 / math.sqrt(fan_in)
    return torch.empty(shape).uniform_(-bound, bound)


def at_events(tokens: Float[Tensor, "quanta tokens ..."], events: Events) -> Bool[Tensor, "quanta events ..."]:
    """Whether gates or writers are active at the events."""
    return selected_rows(tokens, events.event_rows, dim=1).detach() > 0
