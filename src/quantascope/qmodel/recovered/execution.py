"""`RecoveredExecution`: one forward pass of a recovered Q-model."""

from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Bool, Float
from torch import Tensor

from quantascope.qmodel.recovered.rows import selected_rows
from quantascope.tasks.events import Events


@dataclass(frozen=True, eq=False)
class RecoveredExecution:
    """One forward pass over the valid tokens, quanta in their order.

    `gate` are logits; `active` and `opened` are gates and writers as executed; a writer is closed if its gate is.
    `written` is what each quantum sends along each of its `directions`: those of its writers, which have unit
    length, and in the block form those along which it passes on what it reads.
    """

    events: Events
    logits: Float[Tensor, "events vocabulary"]
    updates: list[Float[Tensor, "tokens width"]]
    gate: Float[Tensor, "quanta tokens"]
    active: Float[Tensor, "quanta tokens"]
    opened: Float[Tensor, "quanta tokens writers"]
    written: Float[Tensor, "quanta ways tokens"]
    directions: Float[Tensor, "quanta ways width"]
    channel_probability: Float[Tensor, " channels"]

    @property
    def sent(self) -> Float[Tensor, "quanta tokens ways"]:
        """What each quantum sends along each of its directions."""
        return self.written.detach().transpose(1, 2)

    @property
    def activity(self) -> Float[Tensor, "quanta tokens writers"]:
        """The size of each writer's output."""
        return self.sent[..., : self.opened.shape[-1]]

    @property
    def message(self) -> Float[Tensor, "quanta tokens width"]:
        """The messages of all quanta."""
        return self.written.transpose(1, 2) @ self.directions

    @cached_property
    def gate_at_events(self) -> Float[Tensor, "quanta events"]:
        """The gate logits at the events."""
        return selected_rows(self.gate, self.events.event_rows, dim=1)


def at_events(tokens: Float[Tensor, "quanta tokens ..."], events: Events) -> Bool[Tensor, "quanta events ..."]:
    """Whether gates or writers are active at the events."""
    return selected_rows(tokens, events.event_rows, dim=1).detach() > 0
