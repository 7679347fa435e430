"""`Lesson`: examples for a network, and the target updates of its blocks.

In your own training loop, for any examples of a lesson:

    part = lesson.at(examples)
    loss = part.loss(model.run(part.events))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.guidance.alignment import Guidance, event_updates
from quantascope.models import Execution
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class Lesson:
    """The events of a step: the first `answered` events are learned, and events with a target are aligned."""

    events: Events
    answered: int
    guidance: Guidance | None = None
    aligned: Int[Tensor, " targets"] | None = None
    """The event index of each target. Default: all events in order."""

    @classmethod
    def of(cls, events: Events, guidance: Guidance | None = None) -> "Lesson":
        """A lesson in which every event is learned and aligned."""
        return cls(events, events.count, guidance)

    @classmethod
    def in_tokens(
        cls,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[Sequence[int]]],
        guidance: Guidance | None = None,
    ) -> "Lesson":
        """A lesson in a network's own tokens; a token of the program may take several of them.

        For each example, `answers` lists the network's tokens for each of the program's tokens. A target belongs
        to the event that predicts the first of them, since there the network must know the program's token.

        >>> lesson = Lesson.in_tokens([[1, 2]], [[[7], [8, 9], [3]]])
        >>> lesson.events.target, lesson.aligned
        (tensor([7, 8, 9, 3]), tensor([0, 1, 3]))
        """
        events = Events.of(prompts, [list(chain.from_iterable(answer)) for answer in answers])
        lengths = torch.tensor([len(tokens) for answer in answers for tokens in answer])
        if not lengths.all():
            raise InvalidConfig("a token of the program maps to no token of the network; give each at least one")
        aligned = lengths.cumsum(0) - lengths
        if guidance is not None and len(guidance.target) != len(aligned):
            raise InvalidConfig(
                f"there are targets for {len(guidance.target)} events, but the answers have tokens for "
                f"{len(aligned)}; give the tokens of every token that the program writes, its end included"
            )
        return cls(events, events.count, guidance, aligned)

    def at(self, examples: Int[Tensor, " chosen"]) -> "Lesson":
        """The lesson of some examples, as for a minibatch."""
        if self.answered < self.events.count:
            raise InvalidConfig("a lesson with unanswered prompts cannot be split; choose among answered examples")
        events, numbers = self.events.taken(examples), self.events.numbers(examples)
        if self.aligned is None:
            return Lesson.of(events, self.guidance and self.guidance.at(numbers))
        target = torch.full((self.events.count,), -1, device=numbers.device)
        target[self.aligned] = torch.arange(len(self.aligned), device=numbers.device)
        aligned = (target[numbers] >= 0).nonzero().squeeze(1)
        guidance = self.guidance and self.guidance.at(target[numbers][aligned])
        return Lesson(events, events.count, guidance, aligned)

    def loss(self, execution: Execution) -> Float[Tensor, ""]:
        """Cross-entropy, and alignment if there is guidance."""
        learned = self.cross_entropy(execution)
        return learned if self.guidance is None else learned + self.alignment(execution)

    def cross_entropy(self, execution: Execution) -> Float[Tensor, ""]:
        """Mean cross-entropy over the learned events, in nats."""
        target = self.events.target[: self.answered]
        return torch.nn.functional.cross_entropy(execution.logits[: self.answered], target)

    def alignment(self, execution: Execution) -> Float[Tensor, ""]:
        """Alignment of the events that have a target."""
        assert self.guidance is not None
        updates = event_updates(execution, self.events)
        if self.aligned is not None:
            updates = [update[self.aligned] for update in updates]
        return self.guidance.alignment(updates)
