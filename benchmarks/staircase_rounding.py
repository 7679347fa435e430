"""Can the paper's displayed staircase be repeated digit by digit? Its run again, with rounding errors of one bit.

    python benchmarks/staircase_rounding.py --json results/benchmarks/staircase-rounding.json

The `paper` preset of composed-staircase draws supports, ranks, weights, batches and panel as the released script
does. Here the same run is made with initial weights that are moved up or down by one unit in the last place, as
another order of sums would do at any step. If such runs end in different figures, then no agreement of draws gives
the displayed run on another machine. Declared before: seeds 100 to 102 for the roundings, nothing chosen.
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from quantascope.acquisition.curves import LearningCurves
from quantascope.acquisition.functional import evaluate_panel
from quantascope.acquisition.learner import batches_of, prepare, task_objective
from quantascope.claims.composed_staircase import PAPER_LEARNER, ComposedStaircase, measure
from quantascope.models import TaskMLP
from quantascope.models.device import CPU
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.training import train

SEEDS = (100, 101, 102)
FIGURES = (
    "private_crossing_step", "shared_crossing_step", "first_exact_step", "modes_acquired", "tasks_exact_best",
    "tasks_exact_final", "final_loss",
)  # fmt: skip


def figures_of(seed: int | None, steps: int) -> dict[str, float | None]:
    """The stated figures of the displayed run; with a seed, of the run from rounded weights."""
    config = PAPER_LEARNER.replace({"training.steps": steps})
    panel = prepare(config)
    model = config.build()
    if seed is not None:
        round_weights(model, seed)

    def evaluate(network: TaskMLP) -> dict[str, np.ndarray]:
        return {name: value.numpy() for name, value in evaluate_panel(network, panel).items()}

    history = train(
        model,
        batches=batches_of(config, CPU),
        objective=partial(task_objective, lost_above=config.training.stop_above),
        config=config.training,
        seed=config.model_seed,
        evaluate=evaluate,
    )
    asked = ComposedStaircase(learner=config, model_seeds=(0,), definitions="paper")
    found = measure(asked, {"model-0": LearningCurves(config, history)})
    return {name: next(iter(found[name].values), None) for name in FIGURES}


@torch.no_grad()
def round_weights(model: torch.nn.Module, seed: int) -> None:
    """Move every weight to the next number above or below it."""
    draw = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        up = torch.rand(parameter.shape, generator=draw) < 0.5
        parameter.copy_(parameter.nextafter(torch.where(up, torch.inf, -torch.inf)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=PAPER_LEARNER.training.steps)
    parser.add_argument(
        "--json", type=Path, help="keep the figures in this file; a run that is there is not made again"
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows: dict[str, Any] = {}
    if asked.json and asked.json.exists():
        rows = json.loads(asked.json.read_text())["measured"]
    for seed in (None, *SEEDS):
        name = "as drawn" if seed is None else f"rounded, seed {seed}"
        if name not in rows:
            rows[name] = figures_of(seed, asked.steps)
        print(name, rows[name], flush=True)
        if asked.json:
            write_json(asked.json, {"measured": rows, "made_with": made_with()})


if __name__ == "__main__":
    main()
