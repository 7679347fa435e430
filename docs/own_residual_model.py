"""A sequence model of one's own as a source, for own-model.md: python docs/own_residual_model.py trains it.

Its blocks do not attend: each mixes the tokens so far by one learned weight for every pair of positions. Then
`quantascope discover docs/own_residual_model.py:source`, and the other commands alike.
"""

import itertools
import random
from pathlib import Path

import torch
from torch import Tensor, nn

from quantascope import Recorder, SequenceTask, Source, module_source
from quantascope.models.residual import Execution, Interface
from quantascope.tasks.events import Events

CHECKPOINTS = Path("runs/reversal/checkpoints")
WORDS = ["".join(word) for word in itertools.product("abcdef", repeat=3)]
random.Random(0).shuffle(WORDS)
task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *"abcdef"),
    positions=10,
    prompt=tuple,
    answer=lambda word: (*reversed(word), "EOS"),
    panels={
        "training": lambda: WORDS[:120],
        "held_out": lambda: WORDS[120:150],
        "calibration": lambda: WORDS[150:180],
        "test": lambda: WORDS[180:],
    },
    reported=("test",),
)


class Block(nn.Module):
    """Mixes tokens, then an MLP of each token and its mixture; returns what is added to the stream."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(task.positions, task.positions))
        self.up, self.down = nn.Linear(2 * width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, stream: Tensor, events: Events) -> Tensor:
        examples, length = events.tokens.shape
        normed = nn.functional.layer_norm(stream, stream.shape[-1:])
        # The stream has a row for every token that is no padding; `events.rows` says where it stands.
        padded = normed.new_zeros(examples * length, normed.shape[1]).index_copy(0, events.rows, normed)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = self.mix[:length, :length].masked_fill(later, -torch.inf).softmax(-1)
        mixed = (weights @ padded.reshape(examples, length, -1)).flatten(0, 1)[events.rows]
        return self.down(nn.functional.gelu(self.up(torch.cat([normed, mixed], -1))))


class Mixer(nn.Module):
    """A `ResidualModel`: every block adds to one stream, and the logits are read out of it."""

    depth, width = 2, 24

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(len(task.vocabulary), self.width)
        self.position = nn.Embedding(task.positions, self.width)
        self.blocks = nn.ModuleList(Block(self.width) for _ in range(self.depth))
        self.norm, self.head = nn.LayerNorm(self.width), nn.Linear(self.width, len(task.vocabulary))

    def run(self, events: Events) -> Execution:
        """The logits of every event, the embedded tokens, and what each block adds to them."""
        token, place = events.tokens.flatten()[events.rows], events.rows % events.tokens.shape[1]
        embedded = stream = self.embedding(token) + self.position(place)
        updates = []
        for block in self.blocks:
            updates.append(block(stream, events))
            stream = stream + updates[-1]
        return Execution(self.head(self.norm(stream[events.event_rows])), embedded, updates)

    def resume(self, stream: Tensor, events: Events, *, block: int) -> Tensor:
        """The logits of every event, if this stream enters that block."""
        for later in self.blocks[block:]:
            stream = stream + later(stream, events)
        return self.head(self.norm(stream[events.event_rows]))

    def interface(self) -> Interface:
        """Copies of what is named `embedding`, `position`, `norm` and `head`."""
        return Interface.of(self.state_dict(), positions=task.positions)

    def forward(self, events: Events) -> Tensor:
        """The logits of every event."""
        return self.run(events).logits


def train(steps: int = 200, every: int = 10) -> None:
    """Train on all training words at once, and keep checkpoints."""
    model, events = Mixer(), task.events(task.panel("training"))
    recorder, optimizer = Recorder(model, CHECKPOINTS, steps=every), torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(events), events.target).backward()
        optimizer.step()
        recorder.step(1e-2)


def source() -> Source:
    """What the commands ask for."""
    layers = {f"block {block}": f"blocks.{block}.*" for block in range(Mixer.depth)}
    return module_source(Mixer(), CHECKPOINTS, task=task, layers=layers, residual=lambda model: model)


if __name__ == "__main__":
    train()
