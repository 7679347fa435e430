"""`Surgery`: an intervention inside a recovered Q-model, applied while it runs.

Cutting a channel and replacing what it carries change what children receive; the parent's own contribution to the
output stays. Forcing a gate or silencing a writer changes both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantascope.runs.errors import InvalidConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class Surgery:
    """The changes of an intervention.

    `cut` marks channels (children by parents) that carry nothing; `received` replaces what children receive, only
    from `senders` if these are given; `gates` forces the gate of a quantum to be open or closed on every token;
    `silenced` marks writers (quanta by writers) that write nothing.
    """

    cut: Bool[Tensor, "quanta quanta"] | None = None
    received: Float[Tensor, "quanta tokens ways"] | None = None
    senders: Bool[Tensor, " quanta"] | None = None
    gates: Mapping[int, bool] = field(default_factory=dict)
    silenced: Bool[Tensor, "quanta writers"] | None = None

    def __or__(self, other: "Surgery") -> "Surgery":
        """Combine two surgeries; at most one may replace messages."""
        if self.received is not None and other.received is not None:
            raise InvalidConfig("messages are replaced twice; replace those of one quantum, or all")
        source = self if self.received is not None else other
        return Surgery(
            cut=_either(self.cut, other.cut),
            received=source.received,
            senders=source.senders,
            gates={**self.gates, **other.gates},
            silenced=_either(self.silenced, other.silenced),
        )

    def on_channels(self, channels: Float[Tensor, "quanta quanta"]) -> Float[Tensor, "quanta quanta"]:
        """The channels without those that are cut."""
        return channels if self.cut is None else channels.masked_fill(self.cut, 0.0)

    def on_written(
        self, written: Sequence[Float[Tensor, "_ ways tokens"]]
    ) -> Float[Tensor, "senders ways tokens"] | None:
        """What children receive of each earlier layer; None if nothing is before them."""
        if not any(map(len, written)):
            return None
        own = torch.cat(list(written))
        if self.received is None:
            return own
        received = self.received[: len(own)].transpose(1, 2)
        if self.senders is None:
            return received
        return torch.where(self.senders[: len(own), None, None], received, own)

    def on_gates(self, active: Float[Tensor, "_ tokens"], which: slice) -> Float[Tensor, "_ tokens"]:
        """The gates of a range of quanta after the intervention."""
        if not self.gates:
            return active
        active = active.clone()
        for quantum, opened in self.gates.items():
            if which.start <= quantum < which.stop:
                active[quantum - which.start] = float(opened)
        return active

    def on_writers(
        self, opened: Float[Tensor, "_ writers tokens"], which: slice
    ) -> Float[Tensor, "_ writers tokens"]:
        """The writers of a range of quanta after the intervention."""
        return opened if self.silenced is None else opened.masked_fill(self.silenced[which, :, None], 0.0)


def _either(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return other if one is None else one if other is None else one | other


NO_SURGERY = Surgery()
