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
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from quantascope.models.grid import grid_of
from quantascope.models.residual import Interface
from quantascope.qmodel.recovered.block_form import BlockForm
from quantascope.qmodel.recovered.channels import Channels, hard_step
from quantascope.qmodel.recovered.execution import RecoveredExecution
from quantascope.qmodel.recovered.kernels import attended, normalized, routed, tokens_last
from quantascope.qmodel.recovered.packing import Packing, packing_of
from quantascope.qmodel.recovered.rows import moved_rows, selected_rows
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
        if list(layers) != sorted(layers) or layers[0] < 0 or layers[-1] >= blocks:
            raise InvalidConfig(f"the quanta's layers {layers} are not in order within {blocks} blocks; sort them")
        self.layers, self.blocks, self.config = layers, blocks, config
        starts = [sum(layer < block for layer in layers) for block in range(blocks + 1)]
        self._ranges = [slice(first, after) for first, after in itertools.pairwise(starts)]
        self._sizes = [which.stop - which.start for which in self._ranges]
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
        interface = interface or self.interface
        start = interface.embed(grid_of(events))
        channels, probability = self.channels(), self.channels.probability
        if frozen_channels:
            channels, probability = channels.detach(), probability.detach()
        channels = surgery.on_channels(channels)
        exists = start.new_ones(len(self.layers)) if existence is None else existence
        directions, packing = self._ways(), packing_of(events)
        weights = torch.cat([self.gate, self.score], -1).mT
        biases = torch.cat([self.gate_bias, self.score_bias], -1)[:, 0]
        parameters = zip(self.read, *(one.split(self._sizes) for one in (weights, biases)), strict=True)
        parts: list[tuple[Tensor, Tensor, Tensor]] = []
        written: list[Tensor] = []
        for block, (which, (read, weight, bias)) in enumerate(zip(self._ranges, parameters, strict=True)):
            reached = channels[which, : which.start]
            # Quanta that receive the same share one stream; channels that are trained need their own gradients.
            if frozen_channels and bool((reached == reached[:1]).all()):
                reached = reached[:1]
            state = _stream(start, reached, surgery.on_written(written), directions[: which.start])
            seen, passed = self._seen(state, read, packing, block, which, exists)
            gate, score = self._gates_and_scores(seen, weight, bias)
            active = surgery.on_gates(hard_step(gate), which)
            gating = active if self.config.gate_gradients else active.detach()
            jump = hard_step(score, threshold=self.config.threshold, bandwidth=self.config.bandwidth)
            jump = surgery.on_writers(jump, which)
            parts.append((gate, active, jump * gating.detach()[:, None]))
            own = jump * score if passed is None else torch.cat([jump * score, passed], 1)
            written.append((gating * exists[which, None])[:, None] * own)
        updates = [
            own.flatten(0, 1).T @ directions[which].flatten(0, 1)
            for own, which in zip(written, self._ranges, strict=True)
        ]
        gates, active, opened = (torch.cat(part) for part in zip(*parts, strict=True))
        return RecoveredExecution(
            events=events,
            logits=interface.read_out(selected_rows(sum(updates, start), events.event_rows)),
            updates=updates,
            gate=gates,
            active=active,
            opened=opened.transpose(1, 2),
            written=torch.cat(written),
            directions=directions,
            channel_probability=probability,
        )

    def _ways(self) -> Float[Tensor, "quanta ways width"]:
        """The directions along which each quantum sends: its writers', and in the block form of what it reads."""
        if self.block_form is None:
            return self.directions
        return torch.cat([self.directions, self.block_form.out[list(self.layers)]], 1)

    def _seen(
        self,
        state: Float[Tensor, "streams tokens width"],
        read: Float[Tensor, "width projected"],
        packing: Packing,
        block: int,
        which: slice,
        exists: Float[Tensor, " quanta"],
    ) -> tuple[Float[Tensor, "streams tokens inputs"], Float[Tensor, "_ value tokens"] | None]:
        """What gates and writers of a layer see, and in the block form what its open quanta pass on."""
        normed = normalized(state)
        projected = normed @ read
        if self.block_form is None:
            return torch.cat([normed, self._read(projected, packing)], -1), None
        found = self._read(self.block_form.projected(projected, block, exists[which]), packing)
        return self.block_form.added(state, found, block), self.block_form.passed_on(found, which)

    def _gates_and_scores(
        self,
        seen: Float[Tensor, "streams tokens inputs"],
        weight: Float[Tensor, "quanta outputs inputs"],
        bias: Float[Tensor, "quanta outputs"],
    ) -> tuple[Float[Tensor, "quanta tokens"], Float[Tensor, "quanta writers tokens"]]:
        """Gate logits and writer scores of a layer's quanta; a stream shared by all quanta is read once."""
        if len(seen) == 1:
            scores = tokens_last(seen, weight.flatten(0, 1)[None], bias.flatten()[None])
        else:
            scores = tokens_last(seen, weight, bias)
        gate, score = scores.reshape(*bias.shape, seen.shape[1]).split([1, self.config.writers], 1)
        return gate[:, 0], score

    def _read(
        self, projected: Float[Tensor, "streams tokens projected"], packing: Packing
    ) -> Float[Tensor, "streams tokens value"]:
        """The values that each stream reads from its tokens so far, through the layer's head."""
        rank = self.config.rank
        packed = moved_rows(projected, packing.token, packing.place).unflatten(1, (packing.rows, -1))
        query, key, value = packed.split([rank, rank, self.config.value], -1)
        base = self.interface.config.rotary
        if base is not None:
            query, key = (rotated(part.flatten(0, 1), base).view_as(part) for part in (query, key))
        read = attended(query, key, value, packing.bias)
        return moved_rows(read.flatten(1, 2), packing.place, packing.token)


def _stream(
    start: Float[Tensor, "tokens width"],
    channels: Float[Tensor, "quanta senders"],
    written: Float[Tensor, "senders writers tokens"] | None,
    directions: Float[Tensor, "senders writers width"],
) -> Float[Tensor, "_ tokens width"]:
    """The input of each quantum: the start plus the messages it receives; one shared stream without senders."""
    if written is None:
        return start[None]
    return routed(start, written.flatten(0, 1), (channels[:, :, None, None] * directions).flatten(1, 2))


_DIRECTION = 0.02
"""Initial norm of a writer's direction in the paper's code; shorter directions turn faster."""


def _uniform(*shape: int, fan_in: int) -> Tensor:
    bound = 1 / math.sqrt(fan_in)
    return torch.empty(shape).uniform_(-bound, bound)
