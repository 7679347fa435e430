"""A classifier of one's own as a source, for own-model.md: python docs/own_classifier.py trains it.

A classifier reads no symbols, so it has quanta with names and no Q-model: `quantascope discover` and
`quantascope explain docs/own_classifier.py:source` work, and `quantascope fit` says why it does not.
"""

from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from quantascope import ExampleTask, Recorder, Source, module_source

CHECKPOINTS = Path("runs/digits/checkpoints")
PANELS = {
    "training": range(200),
    "held_out": range(200, 300),
    "calibration": range(300, 700),
    "test": range(700, 1100),
}
pixels, digit = load_digits(return_X_y=True)
images = torch.tensor(pixels / 16, dtype=torch.float32)
rows = torch.cat([images, torch.tensor(digit)[:, None]], 1)  # 64 pixels, and the digit
task = ExampleTask(
    examples={name: rows[list(panel)] for name, panel in PANELS.items()},
    classes={name: digit[list(panel)] for name, panel in PANELS.items()},
)


class Network(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(64, 12), nn.Linear(12, 10)

    def forward(self, images: Tensor) -> Tensor:
        """The logits of the ten digits."""
        return self.second(self.first(images).relu())


def losses(network: Network, rows: Tensor) -> Tensor:
    """One loss per example."""
    return nn.functional.cross_entropy(network(rows[:, :64]), rows[:, 64].long(), reduction="none")


def train(steps: int = 30, every: int = 10) -> None:
    """Train on all training examples at once, and keep checkpoints."""
    network = Network()
    recorder, optimizer = Recorder(network, CHECKPOINTS, steps=every), torch.optim.SGD(network.parameters(), 0.2)
    for _ in range(steps):
        optimizer.zero_grad()
        losses(network, task.examples["training"]).mean().backward()
        optimizer.step()
        recorder.step(0.2)


def source() -> Source:
    """What the commands ask for."""
    layers = {"first": "first.*", "second": "second.*"}
    return module_source(Network(), CHECKPOINTS, task=task, layers=layers, losses=losses)


if __name__ == "__main__":
    train()
