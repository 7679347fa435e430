"""What a compiled Q-model knows of its program: on its training inputs, and on others that nobody answered for it.

The others are inputs of the program's audit domain that are not trained on, evenly spaced. The program itself says
what is right there: each token, which quanta run, and what they find.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantascope.models import Predictions, predict
from quantascope.models.device import device_of, moved
from quantascope.qmodel.compiled.model import QExecution
from quantascope.qmodel.compiled.program_task import ProgramTask
from quantascope.qmodel.compiled.supervision import SupervisedQModel, Supervision, class_weights
from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.config import Config, Count, Share
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.tasks.events import Events

MOST_INPUTS = 512
"""Audit inputs that are asked: enough for a share to within two points, and a second's work."""
_AT_ONCE = 512

T = TypeVar("T")


class Knowledge(Config):
    """Shares from 0 to 1: of the training inputs, and of `audit_inputs` inputs that are not trained on.

    Of gates, each quantum counts alike, and of each both answers: always open is 0.5. Of values, those of the
    quanta that run count, each quantum alike. Where nothing is asked, there is no share.
    """

    training_exact: Share
    audit_inputs: Count = 0
    audit_exact: Share | None = None
    audit_tokens: Share | None = None
    audit_gates: Share | None = None
    audit_values: Share | None = None

    def save(self, path: Path, *, made_by: str) -> None:
        """Keep it in a run."""
        write_record(path, self.model_dump(mode="json"), made_by=made_by)

    @classmethod
    def load(cls, path: Path, *, made_by: str) -> "Knowledge":
        """What a run kept."""
        values = read_record(path, made_by=made_by)
        try:
            return cls.parse({name: value for name, value in values.items() if name != "hash"})
        except InvalidConfig as error:
            raise DamagedArtefact(f"{path} does not say what a Q-model knows ({error}); restore it") from error


def measure_knowledge(supervised: SupervisedQModel, taught: ProgramTask, trained_on: str) -> Knowledge:
    """Ask a Q-model, which still has its semantic heads."""
    known = training_exact(supervised.model, taught, trained_on)
    asked = unlabelled(taught, trained_on)
    if asked is None:
        return Knowledge(training_exact=known)
    asked = moved(asked, device_of(supervised))
    run = _run(supervised, asked.events)
    nll = torch.nn.functional.cross_entropy(run.logits, asked.events.target, reduction="none")
    tokens = Predictions(asked.events, nll, run.logits.argmax(-1))
    return Knowledge(
        training_exact=known,
        audit_inputs=len(asked.events),
        audit_exact=tokens.exact_accuracy,
        audit_tokens=tokens.token_accuracy,
        audit_gates=gate_agreement(run.activity, asked),
        audit_values=value_agreement(supervised, run, asked),
    )


def training_exact(model: torch.nn.Module, taught: ProgramTask, trained_on: str) -> float:
    """The share of its own training inputs that a Q-model answers exactly."""
    return predict(model, taught.supervision(trained_on).events).exact_accuracy


def audit_exact(model: torch.nn.Module, taught: ProgramTask, trained_on: str) -> float | None:
    """The share of audit inputs, not trained on, that a Q-model answers as its program does; None if none fits."""
    asked = unlabelled(taught, trained_on)
    return None if asked is None else predict(model, asked.events).exact_accuracy


def unlabelled(taught: ProgramTask, trained_on: str, most: int = MOST_INPUTS) -> Supervision | None:
    """Audit inputs that are not trained on, answered and labelled by the program; None if none fits the task."""
    task, compiled = taught.task, taught.compiled
    trained = set(map(tuple, task.prompts(task.panel(trained_on))))
    audited = _evenly(compiled.program.audit, 8 * most)
    asked = zip(audited, task.possible_prompts(audited), strict=True)
    fresh = [(source, prompt) for source, prompt in asked if prompt is not None and tuple(prompt) not in trained]
    chosen = _evenly(fresh, most)
    if not chosen:
        return None
    written = compiled.trace(source for source, _ in chosen).written()
    outputs = [[task.token.get(token, -1) for token in tokens] for tokens in written]
    fitting = [
        (source, prompt, output)
        for (source, prompt), output in zip(chosen, outputs, strict=True)
        if -1 not in output and len(prompt) + len(output) - 1 <= task.positions
    ]
    if not fitting:
        return None
    kept, prompts, outputs = map(list, zip(*fitting, strict=True))
    return Supervision.of(Events.of(prompts, outputs), compiled.trace(kept).labels)


def gate_agreement(activity: Float[Tensor, "quanta events"], asked: Supervision) -> float:
    """The share of the program's decisions to run a quantum or not that the gates make alike."""
    alike = (activity > 0.5) == asked.active
    return float((class_weights(asked.active, asked.eligible) * alike).sum().clamp(max=1))


def value_agreement(supervised: SupervisedQModel, run: QExecution, asked: Supervision) -> float | None:
    """The share of the values found by the program that the semantic heads read from the messages."""
    target, known = supervised.taught_values(asked.outcome)
    right: Bool[Tensor, "taught events"] = (supervised.semantic_logits(run).argmax(-1) == target) & known
    count = known.sum(1)
    if not count.any():
        return None
    return float((right.sum(1) / count.clamp(min=1)).sum() / (count > 0).sum())


@torch.no_grad()
def _run(supervised: SupervisedQModel, events: Events) -> QExecution:
    starts = range(0, len(events), _AT_ONCE)
    parts = [supervised.model.run(events[start : start + _AT_ONCE]) for start in starts]
    return QExecution(
        torch.cat([part.logits for part in parts]),
        *(torch.cat([getattr(part, name) for part in parts], 1) for name in ("gate", "activity", "message")),
    )


def _evenly(items: Sequence[T], most: int) -> tuple[T, ...]:
    """At most so many, from the first on in equal steps.

    >>> _evenly(range(10), 4)
    (0, 3, 6, 9)
    """
    return tuple(items[:: max(1, -(-len(items) // most))])
