"""Learning a forest: the run that every HSP claim is made of.

The networks of a cohort learn from the same batches; a network that diverges is dropped while the others continue.
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from quantascope.acquisition.curves import LearningCurves
from quantascope.acquisition.functional import evaluate_panel
from quantascope.acquisition.learner_config import CohortLearner, HSPLearner, Learner, read_learner
from quantascope.acquisition.times import THRESHOLD
from quantascope.models import Cohort, TaskMLP
from quantascope.models.device import CPU, find_device, moved
from quantascope.runs.errors import DamagedArtefact, Diverged
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_run
from quantascope.tasks.hsp import Batch, Panel
from quantascope.training import History, Pace, train
from quantascope.training.footprint import check_training

__all__ = [
    "METRICS",
    "CohortLearner",
    "HSPLearner",
    "LearningCurves",
    "batches_of",
    "learn",
    "prepare",
    "read_curves",
    "read_learner",
    "task_objective",
]

METRICS = "metrics.parquet"


def prepare(config: Learner, device: torch.device = CPU) -> Panel:
    """The panel of a run; raises for impossible settings before anything is written."""
    networks, forest = config.networks, config.forest
    parameters = sum(network.parameter_count(forest.sensors, len(forest.tasks)) for network in networks)
    activations = config.batch_size * (forest.sensors + sum(n.width * (n.hidden_layers + 2) for n in networks))
    widths = ", ".join(str(network.width) for network in networks)
    check_training(
        parameters,
        config.training.optimizer,
        what=f"width {widths} with {networks[0].hidden_layers} hidden layers and batch_size={config.batch_size}",
        activations=activations,
        device=device,
    )
    return config.panel()


def learn(
    config: Learner,
    path: Path,
    progress: Progress | None = None,
    pace: Pace | None = None,
    *,
    device: str | torch.device = CPU,
) -> LearningCurves:
    """Train, resume or load the run of this config at `path`, on a device.

    The divergence of a single network in a cohort is a valid outcome: its measurements are NaN. If all of several
    networks diverge, or the network of an `HSPLearner`, an error is raised.
    """
    where = find_device(device)
    panel = None if (path / METRICS).exists() else prepare(config, where)
    run = RunDirectory.open(path, config)
    with run.locked():
        if panel and not (path / METRICS).exists():
            try:
                history = _train(config, panel, run, progress, pace, where)
            except Diverged:
                if not isinstance(config, CohortLearner) or len(config.widths) > 1:
                    raise
                history = _nothing_measured(config)
            history.save(path / METRICS, made_by=run.hash)
        return LearningCurves(config, _history(config, path))


def read_curves(path: Path) -> LearningCurves:
    """Load the measurements of a finished run of one network at `path`."""
    config = read_run(path).parse(HSPLearner, make="quantascope train hsp")
    file = path / METRICS
    if not file.exists():
        raise DamagedArtefact(
            f"the training of {path} is not finished; quantascope train hsp --out {path} resumes it"
        )
    return LearningCurves(config, _history(config, path))


def _history(config: Learner, path: Path) -> History:
    """The measurements of a finished run, as `_measure` makes them."""
    if isinstance(config, HSPLearner):
        each = "float tasks"
        values = {"loss": each, "coefficient": each, "exact": "bool tasks", "modes": "float tasks levels"}
    else:
        values = {"loss": "float networks tasks", "coefficient": "float networks tasks"}
    sizes = {"tasks": len(config.forest.tasks), "networks": len(config.networks)}
    return History.load(
        path / METRICS,
        made_by=config.hash(),
        steps=config.training.steps,
        values=values,
        sizes=sizes,
        may_diverge=isinstance(config, CohortLearner),
    )


def batches_of(config: Learner, device: torch.device) -> Callable[[int], Batch]:
    """The batch of each step, on the networks' device."""
    fresh = config.batches()
    distinct = config.distinct_batches

    def batch(step: int) -> Batch:
        return moved(fresh(step % distinct if distinct else step), device)

    return batch


def task_objective(
    model: nn.Module, batch: Batch, step: int, *, lost_above: float = math.inf
) -> dict[str, Tensor]:
    """The objective: cross-entropy, with gradients computed by the networks themselves.

    For a cohort it is the mean over networks that have not diverged. A network whose loss is not finite or too
    large is dropped: its parameters become NaN.
    """
    assert isinstance(model, TaskMLP | Cohort)
    losses = model.loss_and_gradient(*batch)
    if isinstance(model, TaskMLP):
        return {"cross_entropy": losses}
    kept = torch.isfinite(losses) & (losses <= lost_above)
    for network, keep in zip(model.networks(), kept.tolist(), strict=True):
        if not keep:
            network.theta.detach().fill_(math.nan)
    return {"cross_entropy": losses[kept].mean()}


def _train(
    config: Learner,
    panel: Panel,
    run: RunDirectory,
    progress: Progress | None,
    pace: Pace | None,
    device: torch.device,
) -> History:
    panel = panel.to(device)
    latest: int | None = None

    def evaluate(model: TaskMLP | Cohort) -> dict[str, np.ndarray]:
        nonlocal latest
        values = _measure(model, panel)
        latest = int((values["coefficient"] >= THRESHOLD).sum(-1).max())
        return values

    def with_count(step: int, loss: float, acquired: int | None = None) -> None:
        assert progress
        progress(step, loss, latest)

    return train(
        config.build().to(device),
        batches=batches_of(config, device),
        objective=partial(task_objective, lost_above=config.training.stop_above),
        config=config.training,
        seed=config.model_seed,
        evaluate=evaluate,
        run=run,
        progress=with_count if progress else None,
        pace=pace,
    )


def _measure(model: TaskMLP | Cohort, panel: Panel) -> dict[str, np.ndarray]:
    """Every quantity of one network; of a cohort, those that the scaling claims read."""
    measured = [evaluate_panel(network, panel) for network in model.networks()]
    if isinstance(model, TaskMLP):
        return {name: value.cpu().numpy() for name, value in measured[0].items()}
    return {name: torch.stack([one[name] for one in measured]).cpu().numpy() for name in ("loss", "coefficient")}


def _nothing_measured(config: CohortLearner) -> History:
    steps = range(0, config.training.steps, config.training.evaluate_every)
    step = np.array([*steps, config.training.steps])
    unknown = np.full((len(step), len(config.widths), len(config.forest.tasks)), np.nan, dtype=np.float32)
    return History(step, np.full(len(step), np.nan), {"loss": unknown, "coefficient": unknown})
