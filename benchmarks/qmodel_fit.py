"""What an update of a recovered Q-model costs, against the straightforward way of writing it.

The straightforward loop loads a checkpoint of the source and runs it at every update, then visits one quantum
after another on the padded grid of examples. The fit runs the source once per checkpoint beforehand, reads packed
tokens, and computes the quanta of a layer at once. Both take the same update; their gradients are compared first.
Rounds of both alternate on one thread, and the median round counts, in CPU time.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from quantascope.models import Transformer, TransformerConfig
from quantascope.qmodel.recovered.config import RecoveredFit
from quantascope.qmodel.recovered.execution import RecoveredExecution
from quantascope.qmodel.recovered.fit import recovery_objective
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import PANELS, POSITIONS, VOCABULARY, naming_events
from roofline import Roofline

ASKED_RATIO = 5.0
LAYERS = (0,) * 5 + (1,) * 4 + (2,) * 4


@dataclass(frozen=True)
class Measurement:
    """Milliseconds of an update both ways, their ratio, and the time of the paper's 5,000 updates."""

    loop_ms: float
    fit_ms: float
    ratio: float
    asked_ratio: float
    fit_minutes: float
    roofline: dict[str, float]
    """Of an update as fitted."""


class Update:
    """One update of the paper's Q-model, both ways."""

    def __init__(self) -> None:
        self.events = naming_events(PANELS["training"]())
        self.source = Transformer(
            vocabulary=len(VOCABULARY), positions=POSITIONS, config=TransformerConfig(), seed=0
        ).eval()
        self.weights = self.source.state_dict()
        self.existence = torch.full((len(LAYERS),), 0.5)
        self.supports = torch.rand(len(LAYERS), self.events.count) < 0.3
        self.config = RecoveredFit()
        self.model = RecoveredQModel(
            layers=LAYERS, blocks=3, interface=self.source.interface(), config=self.config.model, seed=0
        )
        self.objective = recovery_objective(self.config)
        self.replayed = self.replay()

    def replay(self) -> ReplayedCheckpoint:
        self.source.load_state_dict(self.weights)
        return ReplayedCheckpoint.of(self.source, self.events, existence=self.existence, supports=self.supports)

    def fit(self) -> None:
        self.objective(self.model, (self.replayed, False), 3000)

    def loop(self) -> None:
        batch = self.replay()
        self.model.zero_grad()
        done = quantum_after_quantum(self.model, batch.events, batch.existence)
        terms = self.config.loss.terms(self.config.updates).values()
        torch.stack([term(done, batch, 3000) for term in terms]).sum().backward()

    def gradient(self, update: Callable[[], None]) -> Tensor:
        update()
        grads = [parameter.grad for parameter in self.model.parameters()]
        return torch.cat([grad.flatten() for grad in grads if grad is not None])


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """The value of `hard` with the gradient of `soft`."""
    return soft + (hard.to(soft.dtype) - soft).detach()


def quantum_after_quantum(model: RecoveredQModel, events: Events, existence: Tensor) -> RecoveredExecution:
    """The forward pass as one would first write it."""
    examples, length = events.tokens.shape
    valid = events.rows
    positions = model.interface.position
    assert positions is not None
    start = model.interface.embedding(events.tokens) + positions(torch.arange(length))
    later = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
    channels, config = model.channels(), model.config
    messages: list[Tensor] = []
    gates, actives, openeds, activity = [], [], [], []
    for quantum, layer in enumerate(model.layers):
        h = start
        for parent in range(quantum):
            if model.layers[parent] < layer:
                h = h + channels[quantum, parent] * messages[parent]
        normed = torch.nn.functional.layer_norm(h, h.shape[-1:])
        query, key, value = (normed @ model.read[layer]).split([config.rank, config.rank, config.value], -1)
        weight = (query @ key.transpose(1, 2) / math.sqrt(config.rank)).masked_fill(later, -math.inf).softmax(-1)
        seen = torch.cat([normed, weight @ value], -1)
        gate = (seen @ model.gate[quantum] + model.gate_bias[quantum]).squeeze(-1)
        active = straight_through(gate > 0, gate.sigmoid())
        told = active.detach()[..., None]
        message, opened, written = torch.zeros_like(start), [], []
        for writer in range(config.writers):
            score = seen @ model.score[quantum, :, writer] + model.score_bias[quantum, 0, writer]
            soft = ((score - config.threshold) / config.bandwidth).sigmoid()
            jump = straight_through(score > config.threshold, soft)
            direction = torch.nn.functional.normalize(model.direction[quantum, writer], dim=0)
            opened.append(jump * told[..., 0])
            written.append(existence[quantum] * opened[-1] * score)
            message = message + written[-1][..., None] * direction
        messages.append(message)
        gates.append(gate.reshape(-1)[valid])
        actives.append(active.reshape(-1)[valid])
        openeds.append(torch.stack(opened, -1).reshape(-1, config.writers)[valid])
        activity.append(torch.stack(written).flatten(1)[:, valid])
    flat = [message.reshape(examples * length, -1)[valid] for message in messages]
    updates = [
        torch.stack([one for one, layer in zip(flat, model.layers, strict=True) if layer == block]).sum(0)
        for block in range(model.blocks)
    ]
    final = (start.reshape(examples * length, -1)[valid] + torch.stack(updates).sum(0))[events.event_rows]
    return RecoveredExecution(
        events=events,
        logits=model.interface.read_out(final),
        updates=updates,
        gate=torch.stack(gates),
        active=torch.stack(actives),
        opened=torch.stack(openeds),
        written=torch.stack(activity),
        directions=model.directions,
        channel_probability=model.channels.probability,
    )


def measure(rounds: int, updates: int) -> Measurement:
    one = Update()
    torch.testing.assert_close(one.gradient(one.fit), one.gradient(one.loop), atol=1e-4, rtol=1e-3)
    taken: dict[str, list[float]] = {"loop": [], "fit": []}
    for _ in range(rounds + 1):
        for name, update in (("loop", one.loop), ("fit", one.fit)):
            began = time.process_time()
            for _ in range(updates):
                update()
            taken[name].append(time.process_time() - began)
    loop, fit = (1000 * statistics.median(seconds[1:]) / updates for seconds in taken.values())
    return Measurement(
        loop_ms=round(loop, 1),
        fit_ms=round(fit, 1),
        ratio=round(loop / fit, 2),
        asked_ratio=ASKED_RATIO,
        fit_minutes=round(5000 * fit / 60_000, 1),
        roofline=asdict(Roofline.of(one.fit, rows=len(one.events.rows), inner=one.source.width, outer=64)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(chosen.rounds, chosen.updates)
    if chosen.json:
        write_json(chosen.json, {"measured": asdict(found), "made_with": made_with()})
    print(f"quantum after quantum  {found.loop_ms:7.1f} ms an update")
    print(f"as fitted              {found.fit_ms:7.1f} ms an update")
    print(f"ratio                  {found.ratio:7.2f}  (asked: at least {found.asked_ratio:g})")
    print(f"5,000 updates          {found.fit_minutes:7.1f} minutes")


if __name__ == "__main__":
    main()
