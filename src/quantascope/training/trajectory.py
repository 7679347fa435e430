"""The trajectory of a training run: parameters at chosen steps, with the learning-rate mass between them.

Ours is written by a `Recorder`: `checkpoints/step-*.safetensors`, each with its step and the learning rates summed
up to it. A tensor of several names, as tied embeddings are, is kept once and read under all of them. A folder of
somebody else's safetensors files is read as well, by the steps in their names (`checkpoint_names`). Then the
learning-rate mass is not known.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.artefact import read_facts, read_tensors, write_tensors
from quantascope.errors import DamagedArtefact, InvalidConfig
from quantascope.training.checkpoint_names import Shards, find_checkpoints

Reader = Callable[[Shards], dict[str, Tensor]]
"""Named parameters from the files of one checkpoint."""


def checkpoint_file(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step is kept."""
    return folder / "checkpoints" / f"step-{step:08d}.safetensors"


class Recorder:
    """Keeps a model's parameters at the given steps, or at every so many; three lines in any training loop.

    A run that is taken up again says `at` which step, and the learning rates summed so far as its `mass`.

    >>> import tempfile
    >>> model, folder = nn.Linear(1, 1), tempfile.mkdtemp()
    >>> recorder = Recorder(model, folder, steps=2)
    >>> for _ in range(4):
    ...     recorder.step(0.1)
    >>> trajectory = Trajectory.open(folder)
    >>> trajectory.steps, trajectory.learning_rate_mass
    (array([0, 2, 4]), array([0.2, 0.2]))
    """

    def __init__(
        self,
        model: nn.Module,
        folder: Path | str,
        *,
        steps: int | Collection[int] = 100,
        made_by: str = "",
        at: int = 0,
        mass: float = 0.0,
    ) -> None:
        if isinstance(steps, int) and steps < 1:
            raise InvalidConfig(f"cannot keep a checkpoint every {steps} steps; give at least 1")
        self._model, self._folder, self._steps, self._made_by = model, Path(folder), steps, made_by
        self.at, self.mass = at, mass
        self._refuse_another_run()
        self._keep()

    def step(self, learning_rate: float) -> None:
        """Take note of one update with this learning rate."""
        self.at += 1
        self.mass += learning_rate
        self._keep()

    def _refuse_another_run(self) -> None:
        """A new run among the checkpoints of an earlier one would be read as one trajectory."""
        later = max(find_checkpoints(self._folder), default=0)
        if later > self.at == 0 and not self._made_by:
            raise InvalidConfig(
                f"{self._folder} has checkpoints up to step {later} already; name another folder, or remove them"
            )

    def _keep(self) -> None:
        due = self.at % self._steps == 0 if isinstance(self._steps, int) else self.at in self._steps
        if due:
            file = checkpoint_file(self._folder, self.at)
            state = self._model.state_dict()
            tied = shared_names(state)
            kept = {name: tensor for name, tensor in state.items() if name not in tied}
            about = {"step": self.at, "mass": self.mass, **({"tied": tied} if tied else {})}
            write_tensors(file, kept, made_by=self._made_by, **about)


def shared_names(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Further names of tensors that are the same memory, and the name that comes first.

    >>> from torch import zeros
    >>> weight = zeros(2)
    >>> shared_names({"embedding": weight, "head": weight, "bias": zeros(2)})
    {'head': 'embedding'}
    """
    first: dict[tuple[Any, ...], str] = {}
    tied = {}
    for name, tensor in tensors.items():
        place = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() and (own := first.setdefault(place, name)) != name:
            tied[name] = own
    return tied


def load_shards(shards: Shards) -> dict[str, Tensor]:
    """The tensors of one checkpoint."""
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        part, about = read_tensors(shard, made_by=None)
        part |= {name: part[own] for name, own in about.get("tied", {}).items()}
        if twice := sorted(tensors.keys() & part.keys()):
            names = " and ".join(map(str, shards[:2]))
            raise DamagedArtefact(
                f"{names} both hold '{twice[0]}', so they are no shards of one checkpoint; part them"
            )
        tensors |= part
    return tensors


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Checkpoints of one run in the order of their steps."""

    steps: Int[np.ndarray, " checkpoints"]
    files: tuple[Shards, ...]
    mass: Float[np.ndarray, " checkpoints"] | None
    reader: Reader = load_shards

    @classmethod
    def open(cls, folder: Path | str, reader: Reader = load_shards) -> "Trajectory":
        """The trajectory in a run directory or in any folder of safetensors files."""
        folder = Path(folder)
        if not folder.is_dir():
            raise DamagedArtefact(f"there is no folder {folder}; give a run directory or a folder of checkpoints")
        ours = sorted(folder.glob("checkpoints/step-*.safetensors"))
        if ours and read_facts(ours[0]):
            return cls._of_facts(ours, reader)
        found = find_checkpoints(folder)
        if not found:
            raise DamagedArtefact(
                f"{folder} has no checkpoints; record some while training, or name a folder of safetensors files"
            )
        for step, candidates in found.items():
            if len(candidates) > 1:
                names = " and ".join(str(candidate[0]) for candidate in candidates[:2])
                raise DamagedArtefact(
                    f"step {step} is there twice, as {names}; remove one, or give the files with "
                    "Trajectory.of_files"
                )
        return cls.of_files({step: candidates[0] for step, candidates in found.items()}, reader)

    @classmethod
    def of_files(cls, files: Mapping[int, Path | Iterable[Path]], reader: Reader = load_shards) -> "Trajectory":
        """The trajectory of given files, or given shards, by step."""
        steps = sorted(files)
        shards = [files[step] for step in steps]
        return cls(
            np.array(steps, dtype=np.int64),
            tuple((shard,) if isinstance(shard, Path) else tuple(shard) for shard in shards),
            None,
            reader,
        )

    @classmethod
    def _of_facts(cls, files: list[Path], reader: Reader) -> "Trajectory":
        about: dict[int, tuple[Path, float]] = {}
        for file in files:
            facts = read_facts(file)
            if not {"step", "mass"} <= facts.keys():
                raise DamagedArtefact(
                    f"{file} does not say its step and learning-rate mass; it is not a checkpoint of ours"
                )
            if facts["step"] in about:
                raise DamagedArtefact(
                    f"step {facts['step']} is there twice, as {about[facts['step']][0]} and {file}; remove one"
                )
            about[facts["step"]] = file, facts["mass"]
        steps = sorted(about)
        return cls(
            np.array(steps, dtype=np.int64),
            tuple((about[step][0],) for step in steps),
            np.array([about[step][1] for step in steps]),
            reader,
        )

    def __len__(self) -> int:
        """How many checkpoints there are."""
        return len(self.steps)

    def __repr__(self) -> str:
        """Steps without the list of files, which is long."""
        return f"Trajectory({len(self)} checkpoints, steps {self.steps[0]} to {self.steps[-1]})"

    @property
    def learning_rate_mass(self) -> Float[np.ndarray, " intervals"]:
        """Learning rates summed over each interval."""
        if self.mass is None:
            raise InvalidConfig("these checkpoints do not say their learning rates; use the path rule")
        return np.diff(self.mass)

    def at(self, steps: Iterable[int]) -> "Trajectory":
        """The same trajectory at fewer steps."""
        place = {int(step): index for index, step in enumerate(self.steps)}
        wanted = [int(step) for step in steps]
        for step in wanted:
            if step not in place:
                near = int(self.steps[np.abs(self.steps - step).argmin()])
                raise DamagedArtefact(f"there is no checkpoint of step {step}; the nearest is of step {near}")
        index = [place[step] for step in wanted]
        mass = None if self.mass is None else self.mass[index]
        return replace(self, steps=self.steps[index], files=tuple(self.files[i] for i in index), mass=mass)

    def load(self, index: int) -> dict[str, Tensor]:
        """Named parameters of the checkpoint with this index."""
        return self.reader(self.files[index])
