"""Whole-sweep throughput: widths on one batch stream against the straightforward runs one after another.

Each straightforward run draws its own batches, concatenates a one-hot task code and trains `nn.Linear` layers with
`torch.optim.Adam` and the learning rates of muP by layer. Ours is the training loop of the scaling claims with all
widths as one cohort. Rounds of both alternate, one thread each, and the median round counts. Before timing, both
learn from the same weights on the same 50 batches and must show the same losses.
"""

import argparse
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from hsp_training import PlainData, PlainLearner, timed
from quantascope.acquisition.learner import CohortLearner, batches_of, task_objective
from quantascope.models import TaskMLP
from quantascope.runs.artefact import write_json
from quantascope.tasks.hsp import Forest, RegularFamily, build_forest
from quantascope.training import OptimizerConfig, TrainingConfig, train

RATE, ASKED_RATIO = 1e-2, 2.0
SWEEP = CohortLearner(
    family=RegularFamily(roots=4, depth=5, pool=28),
    widths=(8, 16, 24, 32, 48, 64),
    hidden_layers=3,
    batch_size=512,
    training=TrainingConfig(optimizer=OptimizerConfig(name="adam", learning_rate=RATE)),
)


class PlainMuLearner(PlainLearner):
    """The straightforward network under muP: a factor at the readout and a rate for each kind of weight."""

    def __init__(self, forest: Forest, model: TaskMLP) -> None:
        config = model.config
        super().__init__(forest, config.width, hidden_layers=config.hidden_layers)
        self.factor = 1 / config.width_multiplier
        layers = [layer for layer in self.network if isinstance(layer, nn.Linear)]
        hidden = [layer.weight for layer in layers[1:-1]]
        others = [part for part in self.network.parameters() if not any(part is weight for weight in hidden)]
        self.optimizer = torch.optim.Adam(
            [{"params": others, "lr": RATE}, {"params": hidden, "lr": RATE * self.factor}]
        )
        self.copy_from(model)

    def logits(self, inputs: Tensor) -> Tensor:
        """The readout's weights count by the factor, its bias in full."""
        last = self.network[-1]
        assert isinstance(last, nn.Linear)
        hidden = self.network[:-1](inputs)
        return nn.functional.linear(hidden * self.factor, last.weight, last.bias)


@dataclass(frozen=True)
class Measurement:
    """Throughputs of a sweep, their ratio, and how far apart the losses of 50 equal batches were."""

    widths: tuple[int, ...]
    plain_examples_per_second: float
    our_examples_per_second: float
    ratio: float
    asked_ratio: float
    largest_loss_difference: float


def same_outcome(forest: Forest, steps: int = 50) -> float:
    """Largest difference of the losses over 50 equal batches from equal weights, over all widths."""
    cohort = SWEEP.build()
    plain = [PlainMuLearner(forest, model) for model in cohort.networks()]
    batches = batches_of(SWEEP, torch.device("cpu"))
    ours: list[list[float]] = []

    def noting(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor], step: int) -> dict[str, Tensor]:
        losses = cohort.loss_and_gradient(*batch)
        ours.append(losses.tolist())
        return {"cross_entropy": losses.mean()}

    train(cohort, batches=batches, objective=noting, config=_training(steps))
    theirs = [
        [one.step(b.signs, b.task, (b.target > 0).long()) for one in plain] for b in map(batches, range(steps))
    ]
    return float((torch.tensor(ours) - torch.tensor(theirs)).abs().max())


def measure(rounds: int, steps: int) -> Measurement:
    """Alternate rounds of both and compare their medians."""
    forest = build_forest(SWEEP.family)
    cohort, data = SWEEP.build(), PlainData(forest)
    plain = [PlainMuLearner(forest, model) for model in cohort.networks()]
    batches = batches_of(SWEEP, torch.device("cpu"))

    def run_plain() -> None:
        for learner in plain:
            for _ in range(steps):
                learner.step(*data())

    def run_ours() -> None:
        train(cohort, batches=batches, objective=task_objective, config=_training(steps))

    seconds = {run: [] for run in (run_plain, run_ours)}
    for _ in range(rounds + 1):
        for run, taken in seconds.items():
            taken.append(timed(run))
    examples = SWEEP.batch_size * steps * len(SWEEP.widths)
    rate = {run: examples / statistics.median(taken[1:]) for run, taken in seconds.items()}
    return Measurement(
        widths=SWEEP.widths,
        plain_examples_per_second=round(rate[run_plain]),
        our_examples_per_second=round(rate[run_ours]),
        ratio=round(rate[run_ours] / rate[run_plain], 2),
        asked_ratio=ASKED_RATIO,
        largest_loss_difference=same_outcome(forest),
    )


def _training(steps: int) -> TrainingConfig:
    return SWEEP.training.model_copy(update={"steps": steps})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(chosen.rounds, chosen.steps)
    if chosen.json:
        write_json(chosen.json, asdict(found))
    print(f"widths {', '.join(map(str, found.widths))}, batch {SWEEP.batch_size}, all widths of a sweep")
    print(f"plain {found.plain_examples_per_second:,}/s   ours {found.our_examples_per_second:,}/s", end="   ")
    print(f"ratio {found.ratio} (asked {found.asked_ratio})   loss difference {found.largest_loss_difference:.1e}")


if __name__ == "__main__":
    main()
