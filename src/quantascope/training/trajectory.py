"""The trajectory of a training run: parameters at chosen steps, with the learning-rate mass between them.

A checkpoint is `checkpoints/step-*.safetensors`; it records its step and the learning rates summed up to it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.artefact import read_tensors, write_tensors
from quantascope.errors import DamagedArtefact


def checkpoint_file(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step is kept."""
    return folder / "checkpoints" / f"step-{step:08d}.safetensors"


class Recorder:
    """Keeps a model's parameters at the given steps; three lines in any training loop.

    >>> import tempfile
    >>> model, folder = nn.Linear(1, 1), tempfile.mkdtemp()
    >>> recorder = Recorder(model, folder, steps=range(0, 3, 2))
    >>> for _ in range(2):
    ...     recorder.step(0.1)
    >>> trajectory = Trajectory.open(folder)
    >>> trajectory.steps, trajectory.learning_rate_mass
    (array([0, 2]), array([0.2]))
    """

    def __init__(
        self,
        model: nn.Module,
        folder: Path | str,
        *,
        steps: Collection[int],
        made_by: str = "",
        at: int = 0,
        mass: float = 0.0,
    ) -> None:
        self._model, self._folder, self._steps, self._made_by = model, Path(folder), steps, made_by
        self.at, self.mass = at, mass
        self._keep()

    def step(self, learning_rate: float) -> None:
        """Take note of one update with this learning rate."""
        self.at += 1
        self.mass += learning_rate
        self._keep()

    def _keep(self) -> None:
        if self.at in self._steps:
            file = checkpoint_file(self._folder, self.at)
            write_tensors(file, self._model.state_dict(), made_by=self._made_by, step=self.at, mass=self.mass)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Checkpoints of one run in the order of their steps."""

    folder: Path
    steps: Int[np.ndarray, " checkpoints"]
    learning_rate_mass: Float[np.ndarray, " intervals"]

    @classmethod
    def open(cls, folder: Path | str) -> "Trajectory":
        """The trajectory that was recorded in a run directory."""
        folder = Path(folder)
        about = []
        for file in sorted(folder.glob("checkpoints/step-*.safetensors")):
            _, facts = read_tensors(file, made_by=None)
            if not {"step", "mass"} <= facts.keys():
                raise DamagedArtefact(
                    f"{file} does not say its step and learning-rate mass; it is not a checkpoint of ours"
                )
            about.append((facts["step"], facts["mass"]))
        if not about:
            raise DamagedArtefact(f"{folder} has no checkpoints; train with checkpoints to record a trajectory")
        steps, mass = zip(*sorted(about), strict=True)
        return cls(folder, np.array(steps), np.diff(mass))

    def load(self, index: int) -> dict[str, Tensor]:
        """Named parameters of the checkpoint with this index."""
        return read_tensors(checkpoint_file(self.folder, int(self.steps[index])), made_by=None)[0]
