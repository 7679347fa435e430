"""Estimates the cost of runs on this machine by timing a few of their steps."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from quantascope.acquisition import evaluate_panel
from quantascope.acquisition.learner import CohortLearner, batches_of, task_objective
from quantascope.claims.claim import Cost
from quantascope.models.device import CPU, find_device
from quantascope.tasks.hsp import Panel
from quantascope.training.optimizer import build_optimizer

_STEPS = 2
_TASKS = 4
_PROCESS = 300_000_000
"""Memory of a process that has imported torch, in bytes."""


@dataclass(frozen=True)
class Seconds:
    """Seconds of one update and of one evaluation of all networks of a run."""

    update: float
    evaluation: float


def total_cost(configs: Iterable[CohortLearner], workers: int, device: str = "cpu") -> Cost:
    """All runs on several processes; runs of one shape are timed once."""
    timed: dict[tuple[object, ...], Seconds] = {}
    costs: list[Cost] = []
    for config in configs:
        shape = (config.widths, config.hidden_layers, config.batch_size, config.family.depth)
        if shape not in timed:
            timed[shape] = time_run(config, find_device(device))
        costs.append(cost_of(config, timed[shape]))
    memory = sum(sorted((cost.memory for cost in costs), reverse=True)[:workers])
    return Cost(sum(cost.seconds for cost in costs) / workers, memory)


def cost_of(config: CohortLearner, seconds: Seconds) -> Cost:
    """The cost of one run from the time of its updates and evaluations; memory is counted, not measured."""
    training, forest = config.training, config.forest
    evaluations = training.steps // training.evaluate_every + 1
    parameters = sum(network.parameter_count for network in config.build().networks())
    activations = config.batch_size * sum(
        forest.sensors + width * (config.hidden_layers + 3) for width in config.widths
    )
    history = evaluations * len(forest.tasks) * len(config.widths) * 2
    return Cost(
        seconds=seconds.update * training.steps + seconds.evaluation * evaluations,
        memory=4 * (parameters * (2 + training.optimizer.moments) + activations + history) + _PROCESS,
    )


def time_run(config: CohortLearner, device: torch.device = CPU) -> Seconds:
    """Time two updates after a warm-up, and an evaluation on a few of the tasks."""
    cohort, batches, panel = config.build().to(device), batches_of(config, device), config.panel()
    optimizer = build_optimizer(cohort, config.training.optimizer)

    def update(step: int) -> None:
        task_objective(cohort, batches(step), step)
        optimizer.step()

    update(0)
    sample = Panel(panel.signs[:_TASKS], panel.target[:_TASKS], panel.characters[:_TASKS]).to(device)
    share = len(panel.target) / len(sample.target)
    return Seconds(
        update=_timed(lambda: [update(step) for step in range(1, _STEPS + 1)], device) / _STEPS,
        evaluation=share * _timed(lambda: [evaluate_panel(one, sample) for one in cohort.networks()], device),
    )


def _timed(work: Callable[[], object], device: torch.device) -> float:
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began
