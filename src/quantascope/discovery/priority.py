"""The priority field: how much each update helped each event, through each layer (paper, section 5.1).

Two rules measure one interval between checkpoints.

    gradient Λ <∇_l L_e, ∇_l L_train> at the interval's start: the paper's first-order credit. It equals the loss
               change only for small steps of plain gradient descent. path -∫ <∇_l L_e, dθ_l> along the straight
               line between the checkpoints, by nested quadrature with as many nodes as needed. Over all parameters
               it is the loss change, for any optimizer and spacing.

Both are directional derivatives of all event losses at once: one backward pass per layer through the graph of the
population gradient, whatever the number of events. If a kernel cannot be differentiated twice, central differences
of two forward passes per layer are used. The credit of parameters outside all layers is kept too, so that a field
knows its completeness: the share of the true loss change that it explains. A tied tensor is one parameter and
belongs to the layer that contains any of its names. Buffers belong to no layer, because no gradient moves them.
The path rule moves the parameters first and then the buffers, whose credit is added to that of parameters outside
all layers.
"""

import math
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from quantascope.discovery.derivative_form import check_derivatives, form_and_footprints
from quantascope.discovery.field import PriorityField
from quantascope.discovery.groups import Groups, resolve_groups
from quantascope.discovery.interval import Interval, Rule, allowed_error
from quantascope.discovery.linearized import Derivatives, NotTwiceDifferentiable
from quantascope.discovery.quadrature import COUNTS
from quantascope.models.device import CPU, find_device
from quantascope.runs.engine import engine_failure
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import EventLosses, ModuleLosses, TiedLosses, examples_digest
from quantascope.tasks.task import Examples
from quantascope.training import Trajectory


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
        groups: The parameters of each layer.
        train: Training examples, whose mean event loss was minimized; required by the gradient rule.
        events: Examples whose events are measured. Default: `train`.
        rule: How an interval is measured.
        tolerance: Relative norm of the difference between credit and loss change at which the path rule stops
            refining.
        memory: Bytes of memory for derivatives, in addition to the field itself.
        derivatives: `backward`, a second backward pass, or `differences`, central differences of forward passes,
            which take less memory and are exact to about 2e-4 of the largest entry in float32. Default:
            differences if a kernel of the model cannot be differentiated twice, else backward.
        device: Device on which losses are computed: cpu, cuda, cuda:N or mps. Tensors and examples are moved
            there.
        engine: Executor that measures the intervals. Default: this process.
        parts: Folder for measured intervals, from which an interrupted measurement resumes. Raises if it holds
            parts of other checkpoints, events, losses, layers or of another rule.
        progress: Called with the number of measured intervals and their total.

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
        # A kernel may be chosen by batch size, so the trial on a few examples may not have used this one.
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
    """The function that measures an interval, after checks on a few examples."""
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
    form, found = form_and_footprints(asked, asked.tensors(start), train, measured, rule, derivatives)
    chunk = min(one.within(memory) for one in found)
    interval = Interval(trajectory, asked, members, train, measured, rule, tolerance, chunk, parts, form)
    interval.checked_losses(0)
    return interval


def check_rule(rule: str) -> None:
    """Raise if the rule is unknown."""
    if rule not in get_args(Rule):
        raise InvalidConfig(f"there is no rule '{rule}'; there are {' and '.join(get_args(Rule))}")


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
    """Raise if losses cannot be sent to another process."""
    own = losses.losses if isinstance(losses, ModuleLosses) else losses
    try:
        pickle.dumps(own)
    except (pickle.PicklingError, AttributeError, TypeError):
        name = getattr(own, "__qualname__", type(own).__name__)
        raise InvalidConfig(
            f"the loss {name} cannot be sent to the engine's processes; define it by name at module level, not "
            "as a lambda or inside a function, or omit engine"
        ) from None


def _warn_of_error(field: PriorityField, tolerance: float) -> None:
    """Warn about intervals for which the largest number of nodes was too small."""
    error = np.linalg.norm(field.total - field.loss_change, axis=0)
    far = np.flatnonzero(error > 1.01 * allowed_error(field.losses, tolerance))
    if len(far):
        worst = far[error[far].argmax()]
        change = np.linalg.norm(field.loss_change[:, worst])
        warnings.warn(
            f"credit misses the tolerance {tolerance:g} at {COUNTS[-1]} nodes in {len(far)} of {len(error)} "
            f"intervals, most from step {field.steps[worst]} to {field.steps[worst + 1]} (error "
            f"{error[worst]:.2g} of a loss change of {change:.2g}); save checkpoints more often there",
            stacklevel=3,
        )
