"""Measures how well a compiled Q-model knows its program, on its training inputs and on unseen ones.

The unseen inputs are drawn from all parts of the program's audit domain, outside the training inputs. The program
itself gives the reference there: each token, which quanta run, and their outputs.
"""

from pathlib import Path

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantascope.models import Predictions, predict
from quantascope.models.device import device_of, moved
from quantascope.program.drawn import drawn
from quantascope.qmodel.compiled.model import QExecution
from quantascope.qmodel.compiled.program_task import ProgramTask
from quantascope.qmodel.compiled.supervision import SupervisedQModel, Supervision, class_weights
from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.config import Config, Count, Share
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.tasks.events import Events

MOST_INPUTS = 512
"""Number of audit inputs: enough for a share to within two points, in about a second."""
_AT_ONCE = 512


class Knowledge(Config):
    """Shares from 0 to 1: on the training inputs, and on `audit_inputs` unseen inputs.

    The gate share is balanced over quanta and over open and closed: a gate that is always open scores 0.5. The
    value share is balanced over quanta and counts the quanta that run. A share without inputs is None.
    """

    training_exact: Share
    audit_inputs: Count = 0
    audit_exact: Share | None = None
    audit_tokens: Share | None = None
    audit_gates: Share | None = None
    audit_values: Share | None = None

    def save(self, path: Path, *, made_by: str) -> None:
        """Save the knowledge in a run."""
        write_record(path, self.model_dump(mode="json"), made_by=made_by)

    @classmethod
    def load(cls, path: Path, *, made_by: str) -> "Knowledge":
        """The knowledge saved in a run."""
        values = read_record(path, made_by=made_by)
        try:
            return cls.parse({name: value for name, value in values.items() if name != "hash"})
        except InvalidConfig as error:
            raise DamagedArtefact(
                f"{path} is not a valid record of a Q-model's knowledge ({error}); restore it"
            ) from error


def measure_knowledge(supervised: SupervisedQModel, taught: ProgramTask, trained_on: str) -> Knowledge:
    """Measure the knowledge of a Q-model that still has its semantic heads."""
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
    """The share of its training inputs that a Q-model answers exactly."""
    return predict(model, taught.supervision(trained_on).events).exact_accuracy


def audit_exact(model: torch.nn.Module, taught: ProgramTask, trained_on: str) -> float | None:
    """The share of unseen audit inputs that a Q-model answers as its program does; None if no input fits."""
    asked = unlabelled(taught, trained_on)
    return None if asked is None else predict(model, asked.events).exact_accuracy


def unlabelled(taught: ProgramTask, trained_on: str, most: int = MOST_INPUTS) -> Supervision | None:
    """Unseen audit inputs, answered and labelled by the program; None if no input fits the task."""
    task, compiled = taught.task, taught.compiled
    trained = set(map(tuple, task.prompts(task.panel(trained_on))))
    audited = drawn(compiled.program.audit, 8 * most)
    asked = zip(audited, task.possible_prompts(audited), strict=True)
    fresh = [(source, prompt) for source, prompt in asked if prompt is not None and tuple(prompt) not in trained]
    chosen = drawn(fresh, most)
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
    """The share of the program's decisions to run a quantum that the gates reproduce."""
    alike = (activity > 0.5) == asked.active
    return float((class_weights(asked.active, asked.eligible) * alike).sum().clamp(max=1))


def value_agreement(supervised: SupervisedQModel, run: QExecution, asked: Supervision) -> float | None:
    """The share of the program's values that the semantic heads read correctly from the messages."""
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
        *(
            torch.cat([getattr(part, name) for part in parts], 1)
            for name in ("gate", "activity", "message", "content")
        ),
    )
