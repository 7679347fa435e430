"""Held-out panels on which a learner is evaluated, task by task.

`balanced_panel` is exact: for each task it runs through every assignment of the sensors that the task reads,
equally often, with all other sensors random. Averages over it are then expectations, not estimates.
`random_panel` reuses the same draws for every task (appendix D.1), for tasks that read too many sensors.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from quantascope.runs.errors import InvalidConfig
from quantascope.runs.memory import FLOAT, check_memory
from quantascope.tasks.hsp.forest import Forest
from quantascope.tasks.hsp.sampler import PackedTasks


@dataclass(frozen=True, eq=False)
class Panel:
    """Inputs, targets (±1) and local parities (±1, zero beyond the end of a path) of every task."""

    signs: Float[Tensor, "tasks inputs sensors"]
    target: Float[Tensor, "tasks inputs"]
    characters: Float[Tensor, "tasks levels inputs"]

    def to(self, device: torch.device) -> "Panel":
        """The same on a device."""
        return Panel(self.signs.to(device), self.target.to(device), self.characters.to(device))


def balanced_panel(forest: Forest, *, inputs: int, seed: int) -> Panel:
    """A panel of `inputs` rows per task that is exactly balanced over what the task reads."""
    reads = [
        sorted({sensor for above in forest.path(node) for sensor in forest.support[above]})
        for node in forest.tasks.tolist()
    ]
    largest = max(range(len(reads)), key=lambda row: len(reads[row]))
    most = len(reads[largest])
    if inputs % 2**most:
        raise InvalidConfig(
            f"task {largest} reads {most} sensors, so a balanced panel needs a multiple of "
            f"{2**most} inputs per task, not {inputs}; use that or a random panel"
        )
    _check_memory(forest, inputs=inputs, rows=len(forest.tasks) * inputs)
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, size=(len(forest.tasks), inputs, forest.sensors), dtype=np.uint8)
    for row, read in enumerate(reads):
        bits[row][:, read] = (np.arange(inputs)[:, None] >> np.arange(len(read))) & 1
    return panel_of(forest, bits)


def random_panel(forest: Forest, *, inputs: int, seed: int) -> Panel:
    """A panel that asks every task about the same random inputs."""
    _check_memory(forest, inputs=inputs, rows=inputs)
    bits = np.random.default_rng(seed).integers(0, 2, size=(1, inputs, forest.sensors), dtype=np.uint8)
    return panel_of(forest, bits)


def _check_memory(forest: Forest, *, inputs: int, rows: int) -> None:
    """Signs and bits of each row; targets of each task and input."""
    tasks = len(forest.tasks)
    needed = rows * forest.sensors * (FLOAT + 1) + tasks * inputs * FLOAT
    check_memory(needed, f"a panel of {inputs} inputs for {tasks} tasks over {forest.sensors} sensors")


def panel_of(forest: Forest, bits: UInt8[np.ndarray, "tasks inputs sensors"]) -> Panel:
    """The panel of these bits; those of a single task are asked of all."""
    tasks = PackedTasks(forest)
    count, inputs = len(forest.tasks), bits.shape[1]
    packed = tasks.pack(bits)
    signs = tasks.signs(packed.reshape(-1, tasks.words)).reshape(len(bits), inputs, -1).expand(count, -1, -1)
    task = np.repeat(np.arange(count), inputs)
    parities = tasks.parities(np.broadcast_to(packed, (count, inputs, tasks.words)).reshape(-1, tasks.words), task)
    label = tasks.labels(parities, task).reshape(count, inputs)
    on_path = np.arange(tasks.levels)[None, :] < tasks.length[:, None]
    characters = (1 - 2 * parities.reshape(count, inputs, -1).swapaxes(1, 2)) * on_path[:, :, None]
    return Panel(
        signs=signs,
        target=torch.from_numpy(2 * label.astype(np.float32) - 1),
        characters=torch.from_numpy(characters.astype(np.float32)),
    )
