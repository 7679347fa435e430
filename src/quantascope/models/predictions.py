"""Predictions of a sequence model: teacher-forced on events, and decoded greedily."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from quantascope.models.device import CPU, device_of
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

Predictor = Callable[[Events], Tensor]
"""Protocol of anything that returns logits for every event."""
CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Predictions:
    """Loss and most probable token of every event."""

    events: Events
    nll: Float[Tensor, " events"]
    token: Int[Tensor, " events"]

    @property
    def correct(self) -> Bool[Tensor, " events"]:
        """Whether the most probable token is the right one."""
        return self.token == self.events.target

    @property
    def token_accuracy(self) -> float:
        """Share of events predicted right, given the right tokens before."""
        return float(self.correct.double().mean())

    @property
    def exact(self) -> Bool[Tensor, " examples"]:
        """Whether every token of an example is right; this is when greedy decoding reproduces it, end included."""
        wrong = torch.zeros(len(self.events), dtype=torch.long, device=self.token.device)
        return wrong.index_add(0, self.events.example, (~self.correct).long()) == 0

    @property
    def exact_accuracy(self) -> float:
        """Share of examples reproduced exactly."""
        return float(self.exact.double().mean())


@torch.no_grad()
def predict(model: Predictor, events: Events) -> Predictions:
    """Predict every event in batches; the model runs on its device, predictions are on the CPU."""
    device, events = device_of(model), events.to(CPU)
    parts = [events[start : start + CHUNK] for start in range(0, len(events), CHUNK)]
    logits = torch.cat([model(part.to(device)).to(CPU) for part in parts])
    nll = torch.nn.functional.cross_entropy(logits, events.target, reduction="none")
    return Predictions(events, nll, logits.argmax(-1))


@torch.no_grad()
def decode(
    model: Predictor, prompts: Sequence[Sequence[int]], *, end: int, limit: int, padding: int | None = None
) -> list[list[int]]:
    """Greedy continuations of the prompts, each up to its `end` or `padding` token, or cut at `limit` tokens."""
    if limit < 1:
        raise InvalidConfig(f"cannot decode {limit} tokens; give at least 1")
    outputs: list[list[int]] = [[] for _ in prompts]
    open_rows = list(range(len(prompts)))
    while open_rows:
        asked = Events.of([prompts[row] for row in open_rows], [[*outputs[row], end] for row in open_rows])
        last = torch.bincount(asked.example).cumsum(0) - 1
        for row, token in zip(open_rows, predict(model, asked).token[last].tolist(), strict=True):
            outputs[row].append(token)
        open_rows = [
            row for row in open_rows if outputs[row][-1] not in (end, padding) and len(outputs[row]) < limit
        ]
    return outputs


def sampler(model: Predictor, seed: int) -> Predictor:
    """A predictor whose most probable token is drawn from the model's distribution: Gumbel noise is added."""
    generator = torch.Generator().manual_seed(seed)

    def sampled(events: Events) -> Tensor:
        logits = model(events.to(device_of(model))).to(CPU)
        uniform = torch.rand(logits.shape, generator=generator).clamp_min(1e-9)
        return logits - (-uniform.log()).log()

    return sampled
