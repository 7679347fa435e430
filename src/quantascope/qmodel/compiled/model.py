"""The compiled Q-model: a program's graph as a network (paper, section 5.3 and appendix G.4).

For an event at token t, with memory m = token + position + segment of every token up to t:

    s     = W m_t                                the initial residual
    a_q   = Σ messages of all ancestors of q     each once, also where paths join
    r_q   = read of m with query W LN(s + a_q) + b_q, one head shared by all quanta
    message, gate of q from s + a_q + r_q        by the quantum's own cell
    activity of q = min(σ(gate), activity of its parents), detached from the task's gradient
    logits = W (s + Σ messages of the leaves)

The quanta of one level are computed at once.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.models.device import noise_like
from quantascope.models.drawing import drawing
from quantascope.models.grid import grid_of, spread
from quantascope.models.transformer import read_memory
from quantascope.qmodel.cell import Cells, closed_activity, gated_message, routed_stream
from quantascope.qmodel.compiled.authors import authors_cells
from quantascope.quanta.graph import QGraph
from quantascope.runs.config import Config, Width
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import PAD, Events

SEGMENTS = 2
_QUERY_BIAS = 0.5
"""Standard deviation of the quanta's query biases at initialization."""
_MAPS = ("query", "key", "value", "out")
_MAPS_OF_AUTHORS = ("key", "value", "query", "out")


class CompiledConfig(Config):
    """Shape of a compiled Q-model and how its weights are drawn; everything else comes from the graph.

    The `paper` initialisation draws in the order of the paper's released code, so that a seed gives its weights.
    """

    LATER: ClassVar[tuple[str, ...]] = ("initialization",)

    width: Width = 32
    initialization: Literal["default", "paper"] = "default"


@dataclass(frozen=True, eq=False)
class QExecution:
    """One forward pass, quanta in the order of the graph: gates, activity, messages, contents and logits.

    A message is the content, the output of a quantum's cell, times the quantum's activity, which is detached.
    """

    logits: Float[Tensor, "events vocabulary"]
    gate: Float[Tensor, "quanta events"]
    activity: Float[Tensor, "quanta events"]
    message: Float[Tensor, "quanta events width"]
    content: Float[Tensor, "quanta events width"]

    def level_sums(self, graph: QGraph) -> Float[Tensor, "events levels width"]:
        """Z: the messages of each level, summed."""
        return torch.stack([self.message[list(level)].sum(0) for level in graph.by_level], 1)


class CompiledQModel(nn.Module):
    """A network with the shape of a Q-graph, over `Events`.

    >>> from quantascope.quanta.graph import Edge
    >>> graph = QGraph(("READ", "A", "B"), (Edge(0, 1), Edge(0, 2)), emitters=(1, 2))
    >>> model = CompiledQModel(graph=graph, vocabulary=44, positions=20, config=CompiledConfig(), seed=0)
    >>> sum(parameter.numel() for parameter in model.parameters()) == 8908 + 3 * 2241
    True
    >>> events = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2]], outputs=[[20, 3], [21, 22, 3]])
    >>> model(events).shape
    torch.Size([5, 44])
    """

    def __init__(
        self, *, graph: QGraph, vocabulary: int, positions: int, config: CompiledConfig, seed: int
    ) -> None:
        super().__init__()
        if not graph.emitters:
            raise InvalidConfig("the graph has no emitters to read out; compile it from a program")
        self.graph, self.config, self.positions, self.vocabulary = graph, config, positions, vocabulary
        order = [quantum for level in graph.by_level for quantum in level]
        place = {quantum: row for row, quantum in enumerate(order)}
        self._place: Tensor
        self._above: Tensor
        self.register_buffer("_place", torch.tensor([place[q] for q in range(len(order))]), persistent=False)
        self._parents = [[place[parent] for parent in graph.parents(quantum)] for quantum in order]
        self._leaves = sorted(place[quantum] for quantum in graph.emitters)
        above = torch.zeros(len(order), len(order))
        for quantum in order:
            above[place[quantum], [place[ancestor] for ancestor in graph.ancestors(quantum)]] = 1
        self.register_buffer("_above", above, persistent=False)
        width = config.width
        paper = config.initialization == "paper"
        with drawing(seed):
            self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
            self.position = nn.Embedding(positions, width)
            self.segment = nn.Embedding(SEGMENTS, width)
            self.start = nn.Linear(width, width)
            self.query_norm = nn.LayerNorm(width)
            maps = {name: nn.Linear(width, width) for name in (_MAPS_OF_AUTHORS if paper else _MAPS)}
            self.query, self.key, self.value, self.out = (maps[name] for name in _MAPS)
            if paper:
                self.cells = authors_cells([graph.names[quantum] for quantum in order], width)
                self.query_bias = nn.Parameter(torch.zeros(len(order), 1, width))
            else:
                self.cells = Cells(quanta=len(order), width=width)
                self.query_bias = nn.Parameter(_QUERY_BIAS * torch.randn(len(order), 1, width))
            self.head = nn.Linear(width, vocabulary)
            self.drawn_to = torch.get_rng_state()
            """The state of torch's generator from which the released code draws whatever comes next."""

    def forward(self, events: Events) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event, with the routing that the gates predict."""
        return self.run(events).logits

    def run(
        self, events: Events, routing: Float[Tensor, "quanta events"] | None = None, *, noise: float = 0.0
    ) -> QExecution:
        """A forward pass; `routing` gives the activity of every quantum instead of the gates.

        Gaussian `noise` on every active message makes it a channel of low capacity: little more than the quantum's
        output gets through.
        """
        grid = grid_of(events)
        memory = self.embedding(grid.token) + self.position(grid.position) + self.segment(segments_of(events))
        examples, _, length = grid.event_rows.bias.shape
        start = self.start(memory[events.event_rows])
        key, value = (spread(read(memory), grid.slot, examples, length) for read in (self.key, self.value))
        gates, activity = [], []
        messages: list[Tensor] = []
        contents: list[Tensor] = []
        first = 0
        for level in self.graph.by_level:
            which = slice(first, first + len(level))
            above = routed_stream(start, self._above[which, :first], messages).expand(len(level), -1, -1)
            state = above + self._read(above, self.query_bias[which], key, value, events)
            content, gate = self.cells(state, which)
            activity += [
                closed_activity(gate[row], [activity[parent] for parent in self._parents[first + row]])
                if routing is None
                else routing[quantum]
                for row, quantum in enumerate(level)
            ]
            gates.append(gate)
            contents.append(content)
            heard = content + noise * noise_like(content) if noise else content
            messages.append(gated_message(torch.stack(activity[first:]).detach(), heard))
            first += len(level)
        sent = torch.cat(messages)
        logits = self.head(start + sent[self._leaves].sum(0))
        return QExecution(
            logits,
            torch.cat(gates)[self._place],
            torch.stack(activity)[self._place],
            sent[self._place],
            torch.cat(contents)[self._place],
        )

    def _read(
        self,
        above: Float[Tensor, "quanta events width"],
        bias: Float[Tensor, "quanta 1 width"],
        key: Float[Tensor, "examples length width"],
        value: Float[Tensor, "examples length width"],
        events: Events,
    ) -> Float[Tensor, "quanta events width"]:
        """The values that the quanta of a level read from the tokens so far, through one shared head."""
        asking = grid_of(events).event_rows
        examples, widest, _ = asking.bias.shape
        quanta, count, width = above.shape
        query = (self.query(self.query_norm(above)) + bias).transpose(0, 1).reshape(count, quanta * width)
        rows = spread(query, asking.slot, examples, widest).reshape(examples, widest * quanta, width)
        closed = asking.bias.repeat_interleave(quanta, 1)
        read = read_memory(rows, key, value, closed).reshape(examples * widest, quanta, width)[asking.slot]
        return self.out(read).transpose(0, 1)


@lru_cache(maxsize=32)
def segments_of(events: Events) -> Int[Tensor, " tokens"]:
    """0 for tokens of the prompt, 1 for tokens of the output."""
    first = torch.zeros(len(events), dtype=torch.long, device=events.tokens.device)
    first[events.example] = events.position - events.index
    length = events.tokens.shape[1]
    return (events.rows % length > first[events.rows // length]).long()
