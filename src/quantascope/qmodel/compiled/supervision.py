"""Supervision of a compiled Q-model in addition to the task: when its quanta run, and their outputs.

Gates are trained on eligible events, where all parents run, with both classes weighted equally. Semantic heads
predict a quantum's output from its message; they are auxiliary and removed after training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from quantascope.models.drawing import drawing
from quantascope.qmodel.compiled.authors import authors_heads
from quantascope.qmodel.compiled.model import CompiledQModel, QExecution
from quantascope.quanta.labels import MOST_OUTCOMES, GateLabels
from quantascope.tasks.events import Events

_INACTIVE = -100
Read = Literal["messages", "contents"]


@dataclass(frozen=True, eq=False)
class Supervision:
    """Events with a program's labels as tensors, one row per quantum."""

    events: Events
    active: Bool[Tensor, "quanta events"]
    eligible: Bool[Tensor, "quanta events"]
    outcome: Int[Tensor, "quanta events"]

    def at(self, examples: Int[Tensor, " chosen"]) -> "Supervision":
        """The rows of some examples, as for a minibatch."""
        numbers = self.events.numbers(examples)
        labels = (table[:, numbers] for table in (self.active, self.eligible, self.outcome))
        return Supervision(self.events.taken(examples), *labels)

    @classmethod
    def of(cls, events: Events, labels: GateLabels) -> "Supervision":
        """The labels of a trace together with its events."""
        return cls(events, *(torch.from_numpy(np.ascontiguousarray(table.T)) for table in
                             (labels.active, labels.eligible, labels.outcome)))  # fmt: skip


def class_weights(
    active: Bool[Tensor, "quanta events"], eligible: Bool[Tensor, "quanta events"]
) -> Float[Tensor, "quanta events"]:
    """The weight of each label, one in total, balanced over quanta and over the classes of each quantum.

    >>> class_weights(torch.tensor([[1, 0, 0, 1]]).bool(), torch.tensor([[1, 1, 1, 0]]).bool())
    tensor([[0.5000, 0.2500, 0.2500, 0.0000]])
    """
    classes = torch.stack([eligible & active, eligible & ~active]).float()
    count = classes.sum(-1, keepdim=True)
    seen = (count > 0).float().sum(0)
    weight = (classes / count.clamp(min=1)).sum(0) / seen.clamp(min=1)
    return weight / (seen > 0).sum().clamp(min=1)


def gate_loss(
    gate: Float[Tensor, "quanta events"],
    active: Bool[Tensor, "quanta events"],
    eligible: Bool[Tensor, "quanta events"],
) -> Float[Tensor, ""]:
    """Cross-entropy of gates on eligible events, balanced over quanta and over the classes of each quantum.

    >>> gate = torch.tensor([[0.0, 0.0, 0.0, 9.0]])
    >>> active, eligible = torch.tensor([[1, 0, 0, 1]]).bool(), torch.tensor([[1, 1, 1, 0]]).bool()
    >>> gate_loss(gate, active, eligible)      # -log 1/2, whatever the classes' sizes
    tensor(0.6931)
    """
    return nn.functional.binary_cross_entropy_with_logits(
        gate, active.float(), weight=class_weights(active, eligible), reduction="sum"
    )


def taught_quanta(outcomes: tuple[int, ...]) -> list[int]:
    """The quanta whose outputs are taught, with their numbers of outcomes."""
    return [quantum for quantum, count in enumerate(outcomes) if 2 <= count <= MOST_OUTCOMES]


class SupervisedQModel(nn.Module):
    """A compiled Q-model with a semantic head on each quantum that has 2 to 20 outcomes.

    Heads read messages, or contents, which do not depend on the gates. With the paper's initialisation, `places`
    gives the place of each output of each quantum in the authors' order (`output_places`).
    """

    def __init__(
        self,
        model: CompiledQModel,
        outcomes: tuple[int, ...],
        *,
        seed: int,
        reads: Read = "messages",
        places: Sequence[Sequence[int]] | None = None,
    ) -> None:
        super().__init__()
        self.reads = reads
        self.model = model
        self.taught = taught_quanta(outcomes)
        counts = torch.tensor([outcomes[quantum] for quantum in self.taught], dtype=torch.int64)
        self._beyond: Tensor
        self._counts: Tensor
        self.register_buffer("_counts", counts[:, None], persistent=False)
        beyond = (torch.arange(MOST_OUTCOMES) >= counts[:, None])[:, None]
        self.register_buffer("_beyond", beyond, persistent=False)
        width = model.config.width
        if places is not None:
            taught = {quantum: places[quantum] for quantum in self.taught}
            with drawing(model.drawn_to):
                drawn = authors_heads(dict(enumerate(model.graph.names)), taught, width, MOST_OUTCOMES)
            self.weight, self.bias = map(nn.Parameter, drawn)
            return
        with drawing(seed):
            heads = [nn.Linear(width, MOST_OUTCOMES) for _ in self.taught]
        none = torch.zeros(0, width, MOST_OUTCOMES)
        self.weight = nn.Parameter(torch.stack([head.weight.detach().T for head in heads]) if heads else none)
        self.bias = nn.Parameter(
            torch.stack([head.bias.detach()[None] for head in heads]) if heads else none[:, :1]
        )

    def semantic_logits(self, execution: QExecution) -> Float[Tensor, "taught events outcomes"]:
        """The heads' logits from the messages, or contents, of the taught quanta."""
        read = execution.message if self.reads == "messages" else execution.content
        logits = torch.baddbmm(self.bias, read[self.taught], self.weight)
        return logits.masked_fill(self._beyond, -torch.inf)

    def taught_values(
        self, outcome: Int[Tensor, "quanta events"]
    ) -> tuple[Int[Tensor, "taught events"], Bool[Tensor, "taught events"]]:
        """The outputs of the taught quanta, and a mask of where they run with a value known from the audit."""
        found = outcome[self.taught]
        return found, (found >= 0) & (found < self._counts)

    def semantic_loss(self, execution: QExecution, outcome: Int[Tensor, "quanta events"]) -> Float[Tensor, ""]:
        """Cross-entropy of the outputs where quanta run, balanced over quanta.

        A value that the audit domain did not show has no class and is ignored.
        """
        found, known = self.taught_values(outcome)
        target = found.masked_fill(~known, _INACTIVE)
        loss = nn.functional.cross_entropy(
            self.semantic_logits(execution).flatten(0, 1),
            target.flatten(),
            reduction="none",
            ignore_index=_INACTIVE,
        ).reshape(target.shape)
        count = (target != _INACTIVE).sum(1)
        return (loss.sum(1) / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)
