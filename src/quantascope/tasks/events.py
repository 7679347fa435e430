"""`Events`: teacher-forced prediction events, one row per predicted token.

An example is a prompt and an output. A model reads the prompt and the output without its last token, and is
asked for each output token from what comes before it. Several events share the tokens of their example, so the
model runs once per example.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor, nn

from quantascope.runs.errors import InvalidConfig

PAD = 0
"""The padding token. Only `Events.length` marks the end of a row: token 0 may also be a real token."""


@dataclass(frozen=True, eq=False)
class Events:
    """Examples as padded rows of tokens, how long each is, and where in them which token is predicted.

    >>> events = Events.of(prompts=[[1, 2], [1, 3]], outputs=[[5, 9], [6, 7, 9]])
    >>> events.tokens
    tensor([[1, 2, 5, 0],
            [1, 3, 6, 7]])
    >>> events.length
    tensor([3, 4])
    >>> events.example, events.position, events.target
    (tensor([0, 0, 1, 1, 1]), tensor([1, 2, 1, 2, 3]), tensor([5, 9, 6, 7, 9]))
    >>> len(events[1:]), len(events)
    (1, 2)
    """

    tokens: Int[Tensor, "examples length"]
    example: Int[Tensor, " events"]
    position: Int[Tensor, " events"]
    target: Int[Tensor, " events"]
    length: Int[Tensor, " examples"]

    @classmethod
    def of(cls, prompts: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> "Events":
        """The events of examples, in the order of the examples and of their outputs."""
        if not prompts or not all(prompts) or not all(outputs):
            raise InvalidConfig("events need at least one example, and each a prompt and an output")
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
            length=torch.tensor([len(row) for row in rows]),
        )

    @classmethod
    def of_text(cls, windows: Sequence[Sequence[int]]) -> "Events":
        """The events of language modelling: every token of a window but its first is predicted.

        >>> events = Events.of_text([[7, 0, 9], [7, 8]])
        >>> events.tokens, events.target
        (tensor([[7, 0],
                 [7, 0]]), tensor([0, 9, 8]))
        """
        short = next((window for window in windows if len(window) < 2), None)
        if short is not None:
            raise InvalidConfig(f"a window of {len(short)} tokens predicts nothing; give windows of 2 or more")
        return cls.of([window[:1] for window in windows], [window[1:] for window in windows])

    @property
    def count(self) -> int:
        """Number of events."""
        return len(self.target)

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.tokens)

    def __getitem__(self, examples: slice) -> "Events":
        """The events of a contiguous range of examples."""
        start, stop, step = examples.indices(len(self))
        if step != 1:
            raise InvalidConfig(f"events are cut in contiguous ranges, not by steps of {step}")
        kept = (self.example >= start) & (self.example < stop)
        length = self.length[start:stop]
        longest = int(length.max()) if start < stop else 0
        return Events(
            self.tokens[start:stop, :longest],
            self.example[kept] - start,
            self.position[kept],
            self.target[kept],
            length,
        )

    def numbers(self, examples: Int[Tensor, " chosen"]) -> Int[Tensor, " events"]:
        """The events of these examples by their numbers, in the order of the examples.

        >>> Events.of([[1], [1], [1]], [[5, 9], [6, 7, 9], [9]]).numbers(torch.tensor([2, 0]))
        tensor([5, 0, 1])
        """
        if len(examples) and not 0 <= int(examples.min()) <= int(examples.max()) < len(self):
            raise InvalidConfig(f"there are examples 0 to {len(self) - 1}, and {examples.tolist()} are asked for")
        order = self._order
        count = torch.bincount(self.example, minlength=len(self))
        first = (count.cumsum(0) - count)[examples]
        own = count[examples]
        within = torch.arange(int(own.sum()), device=own.device) - (own.cumsum(0) - own).repeat_interleave(own)
        return order[first.repeat_interleave(own) + within]

    @cached_property
    def _order(self) -> Int[Tensor, " events"]:
        return self.example.argsort(stable=True)

    def taken(self, examples: Int[Tensor, " chosen"]) -> "Events":
        """The events of any examples, in their order: a minibatch.

        >>> Events.of([[1, 2], [1]], [[5, 9], [6, 9]]).taken(torch.tensor([1])).tokens
        tensor([[1, 6]])
        """
        numbers, length = self.numbers(examples), self.length[examples]
        own = torch.bincount(self.example, minlength=len(self))[examples]
        return Events(
            self.tokens[examples, : int(length.max()) if len(length) else 0],
            torch.arange(len(examples), device=own.device).repeat_interleave(own),
            self.position[numbers],
            self.target[numbers],
            length,
        )

    def to(self, device: torch.device | str) -> "Events":
        """The same events on a device."""
        if self.tokens.device == torch.device(device):
            return self
        return Events(**{one.name: getattr(self, one.name).to(device) for one in fields(self)})

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
            torch.cat([self.length, others.length]),
        )

    @cached_property
    def rows(self) -> Int[Tensor, " tokens"]:
        """Places of the valid tokens in the flattened grid of examples and positions."""
        place = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return (place < self.length[:, None]).reshape(-1).nonzero().squeeze(1)

    @cached_property
    def event_rows(self) -> Int[Tensor, " events"]:
        """Places of the events among the valid tokens."""
        order = torch.full((self.tokens.numel(),), -1, device=self.tokens.device)
        order[self.rows] = torch.arange(len(self.rows), device=self.tokens.device)
        return order[self.example * self.tokens.shape[1] + self.position]

    @cached_property
    def index(self) -> Int[Tensor, " events"]:
        """The place of each event in the output of its example, from 0."""
        beyond = torch.full((len(self),), self.tokens.shape[1], device=self.tokens.device)
        first = beyond.scatter_reduce(0, self.example, self.position, "amin")
        return self.position - first[self.example]


def _column(parts: Iterable[Iterable[int]]) -> Int[Tensor, " events"]:
    return torch.tensor([value for part in parts for value in part])
