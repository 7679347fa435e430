"""The priority field: how much each update helped each event, through each layer (paper, section 5.1).

Two rules measure one interval between checkpoints.

    gradient   Λ <∇_l L_e, ∇_l L_train> at the interval's start: the paper's first-order credit. It stands for the
               loss change only while steps are small and the update is plain gradient descent.
    path       -∫ <∇_l L_e, dθ_l> along the straight way between the checkpoints, by Gauss-Legendre quadrature of
               as many nodes as it takes. Over all parameters it is the loss change, for any optimizer and spacing.

Both are directional derivatives of all event losses at once: one backward pass per layer through the graph of the
population gradient, whatever the number of events. Where a kernel cannot be differentiated twice, they are central
differences of two forward passes per layer. The credit of parameters outside every layer is kept as well,
so that a field knows its completeness: how much of the true loss change it accounts for. A tied tensor is one
parameter and belongs to the layer that has any of its names. Buffers belong to no layer: no gradient moves them,
and the path rule moves the parameters first and then the buffers, whose credit is with that of the rest.
"""

import math
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.discovery.interval import MOST_NODES, Interval, Rule, allowed_error, linearize
from quantascope.discovery.linearized import Derivatives, Linearized, NotTwiceDifferentiable, Parameters
from quantascope.discovery.memory import Footprint
from quantascope.models.device import CPU, find_device
from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.engine import engine_failure
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.files import RUN_AGAIN
from quantascope.runs.structure import check_tensors, is_named
from quantascope.sources.losses import EventLosses, ModuleLosses, TiedLosses, examples_digest
from quantascope.tasks.task import Examples
from quantascope.training import Trajectory

Groups = Mapping[str, str | Sequence[str]]
"""Layers by name: parameter names, or patterns with * and ?, of each."""

_TENSORS = {
    "steps": "int checkpoints",
    "values": "float layers events intervals",
    "other": "float events intervals",
    "losses": "float events checkpoints",
}
LEAST_CORRELATION = 0.8
"""A field is reliable if its sum is within a factor of two of the loss change, and follows it event by event."""


@dataclass(frozen=True, eq=False)
class PriorityField:
    """Credit of every event in every interval, by layer, and the losses that it accounts for."""

    rule: Rule
    layers: tuple[str, ...]
    steps: Int[np.ndarray, " checkpoints"]
    values: Float[np.ndarray, "layers events intervals"]
    other: Float[np.ndarray, "events intervals"]
    losses: Float[np.ndarray, "events checkpoints"]
    derivatives: Derivatives = "backward"
    """How the derivatives were found."""
    examples: str | None = None
    """A digest of the examples whose events these are, if they are made of tensors."""

    @property
    def total(self) -> Float[np.ndarray, "events intervals"]:
        """Credit through all parameters."""
        return self.values.sum(0) + self.other

    @property
    def loss_change(self) -> Float[np.ndarray, "events intervals"]:
        """By how much each event's loss fell."""
        return -np.diff(self.losses, axis=1)

    @property
    def completeness(self) -> float:
        """Total credit over total fall of the loss; 1 for an exact account, NaN if it did not change."""
        change = float(self.loss_change.sum(dtype=np.float64))
        return float(self.total.sum(dtype=np.float64)) / change if change else math.nan

    @property
    def event_correlation(self) -> float:
        """Correlation over events and intervals of credit and true fall of the loss; NaN if either is constant."""
        if not self.total.std() or not self.loss_change.std():
            return math.nan
        return float(np.corrcoef(self.total.ravel(), self.loss_change.ravel())[0, 1])

    @property
    def reliable(self) -> bool:
        """Whether factors of this field can be called quanta."""
        return 0.5 <= self.completeness <= 2 and self.event_correlation >= LEAST_CORRELATION

    @property
    def warning(self) -> str:
        """What is wrong with a field that is not reliable, and what to do; empty for one that is."""
        if self.reliable:
            return ""
        remedy = "use the path rule, or check" if self.rule == "gradient" else "check"
        return (
            f"the {self.rule} rule accounts for {self.completeness:.2f} of the loss change, correlation "
            f"{self.event_correlation:.2f} by event: factors of this field are not quanta; {remedy} the "
            "trajectory with quantascope audit"
        )

    def save(self, file: Path, *, made_by: str, **about: Any) -> None:
        """Keep the field as an artefact, with further facts about it."""
        arrays = {name: getattr(self, name) for name in _TENSORS}
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        facts = {"rule": self.rule, "layers": list(self.layers), "derivatives": self.derivatives}
        facts |= {"count": self.values.shape[1], "examples": self.examples}
        write_tensors(file, tensors, made_by=made_by, **facts, **about)

    @classmethod
    def load(cls, file: Path, *, made_by: str | None = None, events: Examples | None = None) -> "PriorityField":
        """The field of an artefact; if `events` are given, a field of others is refused."""
        tensors, about = read_tensors(file, made_by=made_by)
        rule: Any = about.get("rule")
        layers: Any = about.get("layers")
        form: Any = about.get("derivatives", "backward")
        if rule not in get_args(Rule) or form not in get_args(Derivatives) or not is_named(layers):
            raise DamagedArtefact(
                f"{file} is not a priority field: it does not say its rule, layers and derivatives; {RUN_AGAIN}"
            )
        check_tensors(file, tensors, _TENSORS, sizes={"layers": len(layers)})
        found = cls(
            rule=rule,
            layers=tuple(layers),
            derivatives=form,
            examples=about.get("examples"),
            **{name: tensors[name].numpy() for name in _TENSORS},
        )
        if found.losses.shape[1] != found.values.shape[2] + 1:
            raise DamagedArtefact(f"{file} has not one interval between each two checkpoints; {RUN_AGAIN}")
        asked = None if events is None else examples_digest(events)
        if asked is not None and found.examples not in (None, asked):
            raise RunMismatch(
                f"{file} is the field of {found.values.shape[1]} events of other examples; measure these into "
                "another file, or move it away"
            )
        return found


def priority_field(
    trajectory: Trajectory,
    event_losses: EventLosses,
    groups: Groups,
    *,
    train: Examples,
    events: Examples | None = None,
    rule: Rule = "path",
    tolerance: float = 0.01,
    memory: float = 2e9,
    derivatives: Derivatives | None = None,
    device: str | torch.device = CPU,
    engine: Executor | None = None,
    parts: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PriorityField:
    """Measure the priority of every event in every interval of a trajectory.

    Args:
        trajectory: Checkpoints of one run.
        event_losses: One loss per event from named parameters and a batch.
        groups: Which parameters make up which layer.
        train: Examples whose mean event loss was trained on; the gradient rule needs them.
        events: Examples whose events are measured; those trained on if not given.
        rule: How an interval is measured.
        tolerance: The path rule refines until credit and loss change differ by at most this share, in norm.
        memory: Bytes that the derivatives may take at once, beyond the field itself.
        derivatives: How derivatives are found: by a second `backward` pass, or by central `differences` of forward
            passes, which take less memory and are exact to about 2e-4 of the largest entry in float32. If not
            given, differences are used where a kernel of the model cannot be differentiated twice.
        device: Where losses are computed: cpu, cuda, cuda:N or mps. Tensors and examples are moved there.
        engine: Where intervals are measured; in this process if not given.
        parts: Folder that keeps measured intervals, so that an interrupted measurement is taken up again. Parts of
            other checkpoints, events, losses, layers or of another rule are refused.
        progress: Told how many intervals are measured, of how many.

    >>> import tempfile
    >>> from quantascope.sources.losses import ModuleLosses
    >>> from quantascope.training import Recorder
    >>> inputs, model, folder = torch.eye(3), torch.nn.Linear(3, 1, bias=False), tempfile.mkdtemp()
    >>> losses = ModuleLosses(model, lambda model, batch: (model(batch).squeeze(1) - 1).square())
    >>> recorder, optimizer = Recorder(model, folder, steps=5), torch.optim.SGD(model.parameters(), 0.1)
    >>> for _ in range(20):
    ...     loss = losses(dict(model.named_parameters()), inputs).mean()
    ...     optimizer.zero_grad(); loss.backward(); optimizer.step()
    ...     recorder.step(0.1)
    >>> field = priority_field(Trajectory.open(folder), losses, {"all": "*"}, train=inputs, rule="path")
    >>> field.values.shape, round(field.completeness, 4)
    ((1, 3, 4), 1.0)
    """
    interval = prepare(
        trajectory,
        event_losses,
        groups,
        train=train,
        events=events,
        rule=rule,
        tolerance=tolerance,
        memory=memory,
        derivatives=derivatives,
        device=device,
        parts=parts,
    )
    interval.check_shapes(interval.tensors(0), len(trajectory) - 1)
    last = interval.checked_losses(len(trajectory) - 1)
    try:
        columns = _measure(interval, len(trajectory) - 1, engine, progress)
    except NotTwiceDifferentiable:
        if derivatives is not None:
            raise
        # A kernel may be chosen by the size of a batch, which the trial on a few examples did not have.
        interval = replace(interval, derivatives="differences")
        columns = _measure(interval, len(trajectory) - 1, engine, progress)
    field = PriorityField(
        rule=rule,
        layers=tuple(interval.members),
        steps=trajectory.steps,
        values=torch.stack([column["values"] for column in columns], -1).numpy(),
        other=torch.stack([column["other"] for column in columns], -1).numpy(),
        losses=torch.stack([*(column["losses"] for column in columns), last], -1).numpy(),
        derivatives=interval.derivatives,
        examples=examples_digest(interval.events),
    )
    if rule == "path":
        _warn_of_error(field, tolerance)
    return field


def prepare(
    trajectory: Trajectory,
    event_losses: EventLosses,
    groups: Groups,
    *,
    train: Examples,
    events: Examples | None = None,
    rule: Rule = "path",
    tolerance: float = 0.01,
    memory: float = 2e9,
    derivatives: Derivatives | None = None,
    device: str | torch.device = CPU,
    parts: Path | None = None,
) -> Interval:
    """What measures each interval, after a check of all that can be checked on a few examples."""
    check_rule(rule)
    check_derivatives(derivatives)
    where = find_device(device)
    if not 0 < tolerance < math.inf:
        raise InvalidConfig(f"tolerance {tolerance:g} is not a share of the loss change; give one above 0")
    if len(trajectory) < 2:
        raise InvalidConfig(f"a priority field needs at least two checkpoints, not {len(trajectory)}")
    trajectory.check()
    if rule == "gradient":
        _ = trajectory.learning_rate_mass
    measured = train if events is None else events
    start = trajectory.load(0)
    asked = TiedLosses.of(event_losses, start, where)
    members = resolve_groups(groups, start, asked)
    form, found = _form_and_footprints(asked, asked.tensors(start), train, measured, rule, derivatives)
    chunk = min(one.within(memory) for one in found)
    interval = Interval(trajectory, asked, members, train, measured, rule, tolerance, chunk, parts, form)
    interval.checked_losses(0)
    return interval


def check_rule(rule: str) -> None:
    """Refuse a rule that there is not."""
    if rule not in get_args(Rule):
        raise InvalidConfig(f"there is no rule '{rule}'; there are {' and '.join(get_args(Rule))}")


def check_derivatives(derivatives: str | None) -> None:
    """Refuse a form of derivatives that there is not."""
    if derivatives not in (None, *get_args(Derivatives)):
        raise InvalidConfig(
            f"there are no derivatives by '{derivatives}'; give {' or '.join(get_args(Derivatives))}, or none to "
            "let the model decide"
        )


def resolve_groups(
    groups: Groups, tensors: Mapping[str, Tensor], losses: TiedLosses | None = None
) -> dict[str, tuple[str, ...]]:
    """The parameters of each layer; every layer has some, and no two share one."""
    aliases, buffers = (losses.aliases, losses.buffers) if losses else ({}, frozenset())
    floating = {name: aliases.get(name, name) for name, value in tensors.items() if value.is_floating_point()}
    parameters = {name: one for name, one in floating.items() if one not in buffers}
    parameters |= {alias: one for alias, one in aliases.items() if one in parameters}
    members: dict[str, tuple[str, ...]] = {}
    owner: dict[str, str] = {}
    for layer, given in groups.items():
        patterns = [given] if isinstance(given, str) else list(given)
        matched = (one for name, one in parameters.items() if any(fnmatchcase(name, by) for by in patterns))
        names = tuple(dict.fromkeys(matched))
        if not names:
            some = ", ".join(list(parameters)[:3])
            raise InvalidConfig(
                f"layer '{layer}' ({', '.join(patterns)}) matches no parameter; there are {some}, …"
            )
        for name in names:
            if name in owner:
                tied = "".join(f", tied to '{alias}'," for alias, one in aliases.items() if one == name)
                raise InvalidConfig(
                    f"parameter '{name}'{tied} is in layer '{owner[name]}' and in '{layer}'; give it to one"
                )
            owner[name] = layer
        members[layer] = names
    if not members:
        raise InvalidConfig("a priority field needs at least one layer; name some parameters")
    return members


def _measure(
    interval: Interval, count: int, engine: Executor | None, progress: Callable[[int, int], None] | None
) -> list[dict[str, Tensor]]:
    measure = map if engine is None else engine.map
    gathered: list[dict[str, Tensor]] = []
    try:
        for column in measure(interval, range(count)):
            gathered.append(column)
            if progress:
                progress(len(gathered), count)
    except (pickle.PicklingError, AttributeError, TypeError):
        if engine is not None:
            _check_picklable(interval.event_losses.losses)
        raise
    except (BrokenExecutor, CancelledError) as error:
        raise engine_failure(error) or error from error
    return gathered


def _check_picklable(losses: EventLosses) -> None:
    """Refuse losses that cannot be sent to another process."""
    own = losses.losses if isinstance(losses, ModuleLosses) else losses
    try:
        pickle.dumps(own)
    except (pickle.PicklingError, AttributeError, TypeError):
        name = getattr(own, "__qualname__", type(own).__name__)
        raise InvalidConfig(
            f"the loss {name} cannot be sent to the engine's processes; define it by name at module level, not "
            "as a lambda or inside a function, or leave engine out"
        ) from None


def _warn_of_error(field: PriorityField, tolerance: float) -> None:
    """Say where the most nodes that are tried were too few."""
    error = np.linalg.norm(field.total - field.loss_change, axis=0)
    far = np.flatnonzero(error > 1.01 * allowed_error(field.losses, tolerance))
    if len(far):
        worst = far[error[far].argmax()]
        change = np.linalg.norm(field.loss_change[:, worst])
        warnings.warn(
            f"credit misses the tolerance {tolerance:g} at {MOST_NODES} nodes in {len(far)} of {len(error)} "
            f"intervals, most from step {field.steps[worst]} to {field.steps[worst + 1]} (error "
            f"{error[worst]:.2g} of a loss change of {change:.2g}); keep checkpoints more often there",
            stacklevel=3,
        )


def _form_and_footprints(
    event_losses: TiedLosses,
    start: Parameters,
    train: Examples,
    events: Examples,
    rule: Rule,
    derivatives: Derivatives | None,
) -> tuple[Derivatives, list[Footprint]]:
    """The derivatives that the model allows, if none are asked for, and the memory that they take."""
    if derivatives == "differences":
        return derivatives, footprints(event_losses, start, train, events, rule, derivatives)
    try:
        found = footprints(event_losses, start, train, events, rule, "backward")
        few = events[max(len(events) - 5, 0) : len(events)]
        Linearized(event_losses.beside(start), event_losses.parameters(start), [few]).check()
    except NotTwiceDifferentiable:
        if derivatives is not None:
            raise
        return "differences", footprints(event_losses, start, train, events, rule, "differences")
    return "backward", found


def footprints(
    event_losses: TiedLosses, start: Parameters, train: Examples, events: Examples, rule: Rule, form: Derivatives
) -> list[Footprint]:
    """The memory that derivatives of examples take, of those that are measured and those that were trained on."""
    found = []
    for name, examples in {"train": train, "events": events}.items():
        if not len(examples):
            raise InvalidConfig(f"there are no examples in {name}; give at least one")
        if name == "events" or (rule == "gradient" and train is not events):
            work = partial(_differentiate, event_losses, start, examples, rule, form)
            found.append(Footprint.of(work, available=len(examples)))
    return found


def _differentiate(
    event_losses: TiedLosses, at: Parameters, examples: Examples, rule: Rule, form: Derivatives, some: slice
) -> None:
    parameters = event_losses.parameters(at)
    here = linearize(form, event_losses.beside(at), parameters, [examples[some]])
    if form == "differences" and rule == "gradient":
        here.gradient()
    here.along([parameters])
