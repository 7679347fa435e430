"""Measures how closely a recovered Q-model follows its source: on panels, by gate, and through training."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from quantascope.discovery import assign
from quantascope.discovery.discover import held_out_panel
from quantascope.discovery.measure import measure_field
from quantascope.models import Predictions, predict
from quantascope.models.device import CPU, device_of
from quantascope.qmodel.recovered.execution import at_events
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.config import fingerprint
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.source import Source, as_events
from quantascope.tasks.events import Events

THROUGH_TIME = "through-time.parquet"
TIME_EVERY = 4
"""For fidelity through training, every fourth input of the causal panel is used."""
DECIDED = 0.1
"""A source is decided if its best word is more probable than its second by at least this."""


@dataclass(frozen=True, eq=False)
class Activity:
    """The open gates and active writers at each event; `owner` is the quantum of each writer."""

    gates: Bool[np.ndarray, "quanta events"]
    writers: Bool[np.ndarray, "writers events"]
    owner: Int[np.ndarray, " writers"]


@dataclass(frozen=True, eq=False)
class Fidelity:
    """The outputs of source and Q-model on the same events."""

    source: Predictions
    qmodel: Predictions
    activity: Activity

    @property
    def agree(self) -> Bool[Tensor, " events"]:
        """For each event, whether both find the same token most probable."""
        return self.source.token == self.qmodel.token

    @property
    def agreement(self) -> float:
        """Share of events on which both models agree."""
        return _share(self.agree)

    @property
    def agreement_where_right(self) -> float:
        """Share of agreement on events where the source is right."""
        return _share(self.agree[self.source.correct])

    @property
    def agreement_where_wrong(self) -> float:
        """Share of agreement on events where the source is wrong; NaN if it never is."""
        return _share(self.agree[~self.source.correct])

    @property
    def active_quanta(self) -> float:
        """Mean number of open gates per event."""
        return float(self.activity.gates.sum(0).mean())

    @property
    def active_writers(self) -> float:
        """Mean number of active writers per event."""
        return float(self.activity.writers.sum(0).mean())


def fidelity(run: RecoveredRun, panel: str) -> Fidelity:
    """Compare the Q-model and the finished source on a panel, without inputs that the source was trained on."""
    events = run.source.events(panel)
    return Fidelity(predict(run.source.model(), events), predict(run.model, events), activity(run.model, events))


def every_event(source: Source, panel: str, every: int) -> Events:
    """The events of every `step`-th input of a panel."""
    return as_events(source.task.events(source.inputs(panel)[::every]), source.folder)


def panel_for(source: Source, role: Literal["test", "causal"]) -> str:
    """The panel for a purpose; raises if the task has none."""
    panel = getattr(source.task.roles, role)
    if panel is None:
        raise InvalidConfig(f"the task of {source.folder} has no panel to test on; add one named test")
    return panel


@torch.no_grad()
def activity(model: RecoveredQModel, events: Events) -> Activity:
    """The active gates and writers at each event."""
    events = events.to(device_of(model))
    done = model.run(events)
    gates, opened = at_events(done.active, events), at_events(done.opened, events)
    writers = opened.transpose(1, 2).flatten(0, 1)
    owner = torch.arange(len(gates)).repeat_interleave(model.config.writers)
    return Activity(gates.cpu().numpy(), writers.cpu().numpy(), owner.numpy())


def summary(run: RecoveredRun, panel: str | None = None) -> dict[str, Any]:
    """The size of a Q-model and its fidelity to its source on a panel, by default the test panel."""
    panel = panel or panel_for(run.source, "test")
    seen, model = fidelity(run, panel), run.model
    return {
        "qmodel": str(run.path),
        "preset": run.config.preset,
        "panel": panel,
        "quanta": len(model.layers),
        "writers": model.writers,
        "channels": [[model.names[edge.parent], model.names[edge.child]] for edge in model.channels.edges],
        "parameters": model.parameter_count,
        "parameter_share": parameter_share(run),
        "agreement": seen.agreement,
        "agreement_where_right": seen.agreement_where_right,
        "token_accuracy": seen.qmodel.token_accuracy,
        "source_token_accuracy": seen.source.token_accuracy,
        "exact": seen.qmodel.exact_accuracy,
        "source_exact": seen.source.exact_accuracy,
        "active_quanta": seen.active_quanta,
        "active_writers": seen.active_writers,
    }


def parameter_share(run: RecoveredRun) -> float:
    """Ratio of the Q-model's parameters to the source's."""
    source = run.source.model()
    # A user's residual model need not be a module; then the checkpoint's tensors are counted.
    tensors = source.parameters() if isinstance(source, nn.Module) else run.source.trajectory.load(-1).values()
    return run.model.parameter_count / sum(one.numel() for one in tensors)


def gate_fidelity(run: RecoveredRun, panel: str | None = None) -> float:
    """Mean F1 of the gates with the supports that the frozen curves assign on held-out events."""
    panel = held_out_panel(run.source, panel)
    held_out = measure_field(run.source, run.config.rule, panel)
    labels = assign(run.replay.factors, held_out.values).supports
    gates = activity(run.model, run.source.events(panel)).gates
    both, sizes = (gates & labels).sum(1), gates.sum(1) + labels.sum(1)
    return float(np.divide(2 * both, sizes, out=np.zeros(len(both)), where=sizes > 0).mean())


@torch.no_grad()
def through_time(run: RecoveredRun) -> pl.DataFrame:
    """Fidelity of the Q-model to its source on held-out inputs at each replayed step; measured once and saved.

    During learning, a source often gives two words nearly equal probability, and their order is random. Therefore
    the table has, in addition to `agreement`, the agreement on events where the source is `decided`, and the
    `overlap` Σ min(p, q) of both distributions.
    """
    file = run.path / THROUGH_TIME
    made_by = fingerprint({"fit": run.config.hash(), "columns": list(_TIME_COLUMNS)})
    if not file.exists():
        events = every_event(run.source, panel_for(run.source, "causal"), TIME_EVERY)
        rows = [(step, *at_step(run, events, step)) for step in run.replay.steps]
        table = pl.DataFrame(rows, orient="row", schema=["step", *_TIME_COLUMNS])
        write_table(file, table, made_by=made_by)
    return read_table(file, made_by=made_by, columns={"step": "int", **dict.fromkeys(_TIME_COLUMNS, "float")})


_TIME_COLUMNS = ("agreement", "decided", "overlap", "source", "qmodel")


@torch.no_grad()
def at_step(run: RecoveredRun, events: Events, step: int) -> tuple[float, ...]:
    """Agreement, the same where the source is decided, overlap, and accuracies of source and Q-model at a step."""
    source = run.source.model(step)
    events, existence = events.to(run.source.device), run.replay.existence(step)
    done = run.model.run(events, interface=source.interface(), existence=existence)
    theirs, ours = source(events).softmax(-1), done.logits.softmax(-1)
    best = theirs.topk(2).values
    decided = best[:, 0] - best[:, 1] >= DECIDED
    says, said = theirs.argmax(-1), ours.argmax(-1)
    return (
        _share(says == said),
        _share((says == said)[decided]),
        float(torch.minimum(theirs, ours).sum(-1).to(CPU).double().mean()),
        _share(says == events.target),
        _share(said == events.target),
    )


def after_first_burst(table: pl.DataFrame, interval_steps: list[int], cumulative: np.ndarray) -> pl.DataFrame:
    """The rows after the first acquisition burst: from where the first gradual curve has half of its mass.

    Curves with nearly all mass in the first interval are learned at once in every run and do not count.
    """
    slow = cumulative[cumulative[:, 0] < 0.5]
    if not len(slow):
        return table
    return table.filter(pl.col("step") >= interval_steps[int((slow >= 0.5).argmax(1).min()) + 1])


def _share(values: Bool[Tensor, " events"]) -> float:
    return float(values.to(CPU).double().mean()) if len(values) else float("nan")
