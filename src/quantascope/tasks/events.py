"""`Events`: teacher-forced prediction events, one row per predicted token.

An example is a prompt and an output. A model reads the prompt and the output without its last token, and is
asked for each output token from what comes before it. Several events share the tokens of their example, so the
model runs once per example.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor, nn

from quantascope.runs.errors import InvalidConfig

PAD = 0
"""The token that fills a row beyond its end; every vocabulary begins with it."""


@dataclass(frozen=True, eq=False)
class Events:
    """Examples as padded rows of tokens, and where in them which token is predicted.

    >>> events = Events.of(prompts=[[1, 2], [1, 3]], outputs=[[5, 9], [6, 7, 9]])
    >>> events.tokens
    tensor([[1, 2, 5, 0],
            [1, 3, 6, 7]])
    >>> events.example, events.position, events.target
    (tensor([0, 0, 1, 1, 1]), tensor([1, 2, 1, 2, 3]), tensor([5, 9, 6, 7, 9]))
    >>> len(events[1:]), len(events)
    (1, 2)
    """

    tokens: Int[Tensor, "examples length"]
    example: Int[Tensor, " events"]
    position: Int[Tensor, " events"]
    target: Int[Tensor, " events"]

    @classmethod
    def of(cls, prompts: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> "Events":
        """The events of examples, in the order of the examples and of their outputs."""
        if not prompts or not all(prompts) or not all(outputs):
            raise InvalidConfig("events need at least one example, and each a prompt and an output")
        if any(PAD in prompt or PAD in output[:-1] for prompt, output in zip(prompts, outputs, strict=True)):
            raise InvalidConfig(f"token {PAD} is padding and cannot stand inside an example; use another token")
        rows = [[*prompt, *output[:-1]] for prompt, output in zip(prompts, outputs, strict=True)]
        length = max(map(len, rows))
        return cls(
            tokens=torch.tensor([row + [PAD] * (length - len(row)) for row in rows]),
            example=_column([i] * len(output) for i, output in enumerate(outputs)),
            position=_column(
                range(len(prompt) - 1, len(prompt) - 1 + len(output))
                for prompt, output in zip(prompts, outputs, strict=True)
            ),
            target=_column(outputs),
        )

    @property
    def count(self) -> int:
        """How many predictions there are."""
        return len(self.target)

    def __len__(self) -> int:
        """How many examples there are."""
        return len(self.tokens)

    def __getitem__(self, examples: slice) -> "Events":
        """The events of a contiguous range of examples."""
        start, stop, step = examples.indices(len(self))
        if step != 1:
            raise InvalidConfig(f"events are cut in contiguous ranges, not by steps of {step}")
        kept = (self.example >= start) & (self.example < stop)
        longest = int((self.tokens[start:stop] != PAD).sum(1).max()) if start < stop else 0
        return Events(
            self.tokens[start:stop, :longest], self.example[kept] - start, self.position[kept], self.target[kept]
        )

    def joined(self, others: "Events") -> "Events":
        """These events, then the others.

        >>> first, then = Events.of([[1, 2]], [[5, 9]]), Events.of([[1, 2, 3]], [[6, 9]])
        >>> first.joined(then).tokens
        tensor([[1, 2, 5, 0],
                [1, 2, 3, 6]])
        """
        length = max(self.tokens.shape[1], others.tokens.shape[1])
        padded = (nn.functional.pad(e.tokens, (0, length - e.tokens.shape[1]), value=PAD) for e in (self, others))
        return Events(
            torch.cat(list(padded)),
            torch.cat([self.example, others.example + len(self)]),
            torch.cat([self.position, others.position]),
            torch.cat([self.target, others.target]),
        )

    @cached_property
    def rows(self) -> Int[Tensor, " tokens"]:
        """Places of the valid tokens in the flattened grid of examples and positions."""
        return (self.tokens.reshape(-1) != PAD).nonzero().squeeze(1)

    @cached_property
    def event_rows(self) -> Int[Tensor, " events"]:
        """Places of the events among the valid tokens."""
        order = torch.full((self.tokens.numel(),), -1)
        order[self.rows] = torch.arange(len(self.rows))
        return order[self.example * self.tokens.shape[1] + self.position]

    @cached_property
    def index(self) -> Int[Tensor, " events"]:
        """The place of each event in the output of its example, from 0."""
        first = torch.full((len(self),), self.tokens.shape[1]).scatter_reduce(
            0, self.example, self.position, "amin"
        )
        return self.position - first[self.example]


def _column(parts: Iterable[Iterable[int]]) -> Int[Tensor, " events"]:
    return torch.tensor([value for part in parts for value in part])
