"""What a run will take on this machine, measured on a few of its own steps before it starts."""

import time
from collections.abc import Callable, Iterable

import torch

from quantascope.acquisition import evaluate_panel
from quantascope.acquisition.learner import CohortLearner, batches_of, best_device, task_objective
from quantascope.claims.claim import Cost
from quantascope.tasks.hsp import Panel
from quantascope.training.optimizer import build_optimizer

_STEPS = 2
_TASKS = 4


def cost_of(config: CohortLearner) -> Cost:
    """Steps and evaluations of a run, timed on a sample and multiplied; memory counted, not measured."""
    device = best_device()
    forest, panel, cohort = config.forest, config.panel(), config.build().to(device)
    batches = batches_of(config, device)
    optimizer = build_optimizer(cohort, config.training.optimizer)

    def update(step: int) -> None:
        task_objective(cohort, batches(step), step)
        optimizer.step()

    update(0)
    step = _timed(lambda: [update(index) for index in range(1, _STEPS + 1)], device) / _STEPS
    sample = Panel(*(part[:_TASKS].to(device) for part in (panel.signs, panel.target, panel.characters)))
    share = len(forest.tasks) / len(sample.target)
    evaluation = share * _timed(lambda: [evaluate_panel(member, sample) for member in cohort.networks()], device)
    evaluations = config.training.steps // config.training.evaluate_every + 1
    moments = {"sgd": 1 if config.training.optimizer.momentum else 0}.get(config.training.optimizer.name, 2)
    parameters = sum(member.parameter_count for member in cohort.networks())
    activations = config.batch_size * sum(
        forest.sensors + width * (config.hidden_layers + 3) for width in config.widths
    )
    history = evaluations * len(forest.tasks) * len(config.widths) * 2
    return Cost(
        seconds=step * config.training.steps + evaluation * evaluations,
        memory=4 * (parameters * (2 + moments) + activations + history) + 300_000_000,
    )


def total_cost(configs: Iterable[CohortLearner], workers: int) -> Cost:
    """All runs on so many processes: equal shapes are measured once; memory is that of the largest at a time."""
    measured: dict[tuple[object, ...], Cost] = {}
    found: list[Cost] = []
    for config in configs:
        shape = (config.widths, config.hidden_layers, config.batch_size, config.family.depth, config.training)
        if shape not in measured:
            measured[shape] = cost_of(config)
        found.append(measured[shape])
    memory = sum(sorted((cost.memory for cost in found), reverse=True)[:workers])
    return Cost(sum(cost.seconds for cost in found) / workers, memory)


def _timed(work: Callable[[], object], device: torch.device) -> float:
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began
