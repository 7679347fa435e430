"""Examples per second of HSP training, ours against the straightforward PyTorch implementation, in one run.

The straightforward one draws bits with `torch.randint` and tasks with `torch.multinomial`, gathers supports for
the labels, concatenates a one-hot task code, and trains `nn.Linear` layers with `torch.optim.Adam`. Ours is the
training loop of every HSP experiment. Rounds of both alternate, one thread each, and the median round counts.
Before timing, both learn from the same weights on the same 50 batches and must show the same losses.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from quantascope.acquisition.learner import task_objective
from quantascope.models import MLPConfig, TaskMLP
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.tasks.hsp import Batch, Forest, FreshBatches, RegularFamily, build_forest
from quantascope.training import TrainingConfig, train
from roofline import Roofline

BATCH, HIDDEN_LAYERS = 512, 5
ASKED_RATIO = {8: 3.0, 64: 3.0, 256: 1.8}


class PlainData:
    """Fresh batches as one would first write them."""

    def __init__(self, forest: Forest) -> None:
        paths = [forest.path(node) for node in forest.tasks.tolist()]
        self.sensors, self.probability = forest.sensors, torch.from_numpy(forest.task_probability)
        self.length = torch.tensor([len(path) for path in paths])
        self.support = torch.zeros(len(paths), int(self.length.max()), 2, dtype=torch.long)
        for row, path in enumerate(paths):
            for level, node in enumerate(path):
                self.support[row, level] = torch.tensor(forest.support[node])

    def __call__(self) -> tuple[Tensor, Tensor, Tensor]:
        bits = torch.randint(0, 2, (BATCH, self.sensors))
        task = torch.multinomial(self.probability, BATCH, replacement=True)
        support, length = self.support[task], self.length[task]
        parity = bits.gather(1, support.flatten(1)).view(support.shape).sum(-1) % 2
        label = parity[:, 0]
        for level in range(1, parity.shape[1]):
            label = torch.where(level < length, 1 - label * parity[:, level], label)
        return (1 - 2 * bits).float(), task, label


class PlainLearner:
    """One-hot concatenation, nn.Linear, Adam."""

    def __init__(self, forest: Forest, width: int, hidden_layers: int = HIDDEN_LAYERS) -> None:
        self.tasks = len(forest.tasks)
        sizes = [forest.sensors + self.tasks, *[width] * hidden_layers]
        layers = [layer for a, b in itertools.pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
        self.network = nn.Sequential(*layers, nn.Linear(width, 2))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)

    def step(self, signs: Tensor, task: Tensor, label: Tensor) -> float:
        inputs = torch.cat([signs, nn.functional.one_hot(task, self.tasks).float()], dim=1)
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.logits(inputs), label)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def logits(self, inputs: Tensor) -> Tensor:
        """Of the labels 0 and 1."""
        return self.network(inputs)

    def copy_from(self, model: TaskMLP) -> None:
        """Take over the weights of our model."""
        parameters = model.split(model.theta.detach())
        linear = [layer for layer in self.network if isinstance(layer, nn.Linear)]
        with torch.no_grad():
            for index, layer in enumerate(linear):
                weight = parameters[f"weight.{index}"]
                layer.weight.copy_(torch.cat([weight, parameters["embedding"].T], 1) if index == 0 else weight)
                layer.bias.copy_(parameters[f"bias.{index}"])


@dataclass(frozen=True)
class Measurement:
    """Throughputs at one width, their ratio, and how far apart the losses of 50 equal batches were."""

    width: int
    plain_examples_per_second: float
    our_examples_per_second: float
    ratio: float
    asked_ratio: float
    largest_loss_difference: float
    roofline: dict[str, float]
    """Of ours."""


def same_outcome(forest: Forest, width: int, steps: int = 50) -> float:
    """Largest difference of the losses over 50 equal batches from equal weights."""
    model = our_model(forest, width)
    plain = PlainLearner(forest, width)
    plain.copy_from(model)
    batches = FreshBatches(forest, batch_size=BATCH, seed=1)
    ours: list[float] = []

    def noting(model: nn.Module, batch: Batch, step: int) -> dict[str, Tensor]:
        terms = task_objective(model, batch, step)
        ours.append(float(terms["cross_entropy"]))
        return terms

    train(model, batches=batches, objective=noting, config=TrainingConfig(steps=steps))
    theirs = [plain.step(b.signs, b.task, (b.target > 0).long()) for b in map(batches, range(steps))]
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def our_model(forest: Forest, width: int) -> TaskMLP:
    config = MLPConfig(width=width, hidden_layers=HIDDEN_LAYERS)
    return TaskMLP(sensors=forest.sensors, tasks=len(forest.tasks), config=config, seed=0)


def measure(forest: Forest, width: int, rounds: int, steps: int) -> Measurement:
    """Alternate rounds of both and compare their medians."""
    plain, data = PlainLearner(forest, width), PlainData(forest)
    model, batches = our_model(forest, width), FreshBatches(forest, batch_size=BATCH, seed=0)

    def run_plain() -> None:
        for _ in range(steps):
            plain.step(*data())

    def run_ours() -> None:
        train(model, batches=batches, objective=task_objective, config=TrainingConfig(steps=steps))

    seconds = {run: [] for run in (run_plain, run_ours)}
    for _ in range(rounds + 1):
        for run, taken in seconds.items():
            taken.append(timed(run))
    rate = {run: BATCH * steps / statistics.median(taken[1:]) for run, taken in seconds.items()}
    return Measurement(
        width=width,
        plain_examples_per_second=round(rate[run_plain]),
        our_examples_per_second=round(rate[run_ours]),
        ratio=round(rate[run_ours] / rate[run_plain], 2),
        asked_ratio=ASKED_RATIO[width],
        largest_loss_difference=same_outcome(forest, width),
        roofline=asdict(Roofline.of(run_ours, rows=BATCH, inner=width, outer=width)),
    )


def timed(run: Callable[[], None]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    forest = build_forest(RegularFamily())
    found = [measure(forest, width, chosen.rounds, chosen.steps) for width in ASKED_RATIO]
    if chosen.json:
        write_json(chosen.json, {"measured": [asdict(one) for one in found], "made_with": made_with()})
    print(f"{len(forest.tasks)} tasks, {forest.sensors} sensors, {HIDDEN_LAYERS} hidden layers, batch {BATCH}")
    print("width   plain/s      ours/s    ratio  asked  loss difference")
    for one in found:
        print(
            f"{one.width:5d} {one.plain_examples_per_second:9,.0f} {one.our_examples_per_second:11,.0f}"
            f" {one.ratio:8.2f} {one.asked_ratio:6.1f}  {one.largest_loss_difference:.1e}"
        )


if __name__ == "__main__":
    main()
