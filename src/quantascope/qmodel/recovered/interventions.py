"""Interventions on a recovered Q-model, and their effects on its predictions.

Every intervention re-executes the model. Effects are recorded per event; intervals are over examples, because the
events of one example are dependent.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.models.device import CPU, device_of
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.qmodel.recovered.surgery import NO_SURGERY, Surgery
from quantascope.tasks.events import Events

DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of an intervention on each event: the change of NLL, and of being right (−1, 0 or 1)."""

    events: Events
    nll: Float[Tensor, " events"]
    correct: Int[Tensor, " events"]

    @property
    def accuracy_drop(self) -> float:
        """Token accuracy lost, in percentage points."""
        return 100 * float((-self.correct).double().mean())

    @property
    def nll_rise(self) -> float:
        """Mean increase of the NLL, in nats."""
        return float(self.nll.mean())

    def interval(self, values: Float[Tensor, " events"]) -> tuple[float, float]:
        """95 % bootstrap interval of the mean over examples."""
        examples = len(self.events)
        sums = (
            torch.zeros(examples, dtype=torch.float64).index_add(0, self.events.example, values.double()).numpy()
        )
        counts = np.bincount(self.events.example.numpy(), minlength=examples)
        drawn = np.random.default_rng(0).integers(examples, size=(DRAWS, examples))
        low, high = np.percentile(sums[drawn].sum(1) / counts[drawn].sum(1), [2.5, 97.5])
        return float(low), float(high)

    @property
    def drop_interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of the accuracy lost, in percentage points."""
        return self.interval(-100.0 * self.correct)

    def by_word(self) -> dict[int, float]:
        """Accuracy lost on each target token that occurs, in percentage points, the most affected first."""
        lost = {
            int(token): -100 * float(self.correct[self.events.target == token].double().mean())
            for token in self.events.target.unique()
        }
        return dict(sorted(lost.items(), key=lambda item: -item[1]))


def effect(model: RecoveredQModel, events: Events, surgery: Surgery) -> Effect:
    """The effect of a surgery on the predictions."""
    return effects(model, events, [surgery])[0]


@torch.no_grad()
def effects(model: RecoveredQModel, events: Events, surgeries: Iterable[Surgery]) -> list[Effect]:
    """The effects of several surgeries, one at a time."""
    there = events.to(device_of(model))
    nll, right = _scored(model, there, NO_SURGERY)
    after = (_scored(model, there, surgery) for surgery in surgeries)
    return [Effect(events, later - nll, still.long() - right.long()) for later, still in after]


def _scored(model: RecoveredQModel, events: Events, surgery: Surgery) -> tuple[Tensor, Tensor]:
    logits = model.run(events, surgery=surgery).logits
    nll = torch.nn.functional.cross_entropy(logits, events.target, reduction="none")
    return nll.to(CPU), (logits.argmax(-1) == events.target).to(CPU)


def delete_all(model: RecoveredQModel) -> Surgery:
    """A surgery after which no child receives messages."""
    return Surgery(cut=torch.ones_like(model.channels.open))


def delete_one(model: RecoveredQModel, parent: int, child: int) -> Surgery:
    """A surgery after which one child does not receive one parent's message."""
    cut = torch.zeros_like(model.channels.open)
    cut[child, parent] = True
    return Surgery(cut=cut)


@torch.no_grad()
def replace_all(model: RecoveredQModel, events: Events, *, seed: int = 0) -> Surgery:
    """A surgery that gives children the messages of another example of the same prompt and output length."""
    device = device_of(model)
    partner = partner_rows(events, seed=seed).to(device)
    return Surgery(received=model.run(events.to(device)).sent[:, partner])


@torch.no_grad()
def replace_one(model: RecoveredQModel, events: Events, quantum: int, *, seed: int = 0) -> Surgery:
    """A surgery that gives the children of one quantum its messages of another example, as in `replace_all`."""
    senders = torch.zeros(len(model.layers), dtype=torch.bool, device=device_of(model))
    senders[quantum] = True
    return replace(replace_all(model, events, seed=seed), senders=senders)


def ablate_quantum(quantum: int) -> Surgery:
    """A surgery that keeps a quantum from running."""
    return Surgery(gates={quantum: False})


def force_gate(quantum: int) -> Surgery:
    """A surgery that makes a quantum always run."""
    return Surgery(gates={quantum: True})


def ablate_writer(model: RecoveredQModel, quantum: int, writer: int) -> Surgery:
    """A surgery that silences a writer."""
    shape = len(model.layers), model.config.writers
    silenced = torch.zeros(shape, dtype=torch.bool, device=device_of(model))
    silenced[quantum, writer] = True
    return Surgery(silenced=silenced)


def partner_rows(events: Events, *, seed: int) -> Int[Tensor, " tokens"]:
    """For every token, the row of the same position in another example of equal prompt and output length.

    Partners are drawn once for each example, in one cycle through the examples of equal lengths; an example
    without a match is its own partner.

    >>> events = Events.of([[1, 6], [1, 7], [1, 8, 8]], [[5, 9], [4, 9], [4, 9]])
    >>> partner_rows(events, seed=0).tolist()
    [3, 4, 5, 0, 1, 2, 6, 7, 8, 9]
    """
    events = events.to(CPU)
    length = events.length
    outputs = torch.bincount(events.example, minlength=len(events))
    first = torch.cat([torch.zeros(1, dtype=torch.long), length.cumsum(0)[:-1]])
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for example, key in enumerate(zip(length.tolist(), outputs.tolist(), strict=True)):
        alike[key].append(example)
    partner = torch.empty(len(events), dtype=torch.long)
    rng = np.random.default_rng(seed)
    for members in alike.values():
        order = rng.permutation(members)
        partner[order] = torch.from_numpy(np.roll(order, 1))
    example = torch.repeat_interleave(torch.arange(len(events)), length)
    return first[partner[example]] + torch.arange(len(example)) - first[example]
