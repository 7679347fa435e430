"""The trajectory of a training run: parameters at chosen steps, with the learning-rate mass between them.

A `Recorder` writes `checkpoints/step-*.safetensors`, each with its step and the learning rates summed up to it. A
tensor with several names, such as tied embeddings, is saved once and loaded under all names. Other checkpoints are
found by the steps in their names (`checkpoint_names`), in the layouts that `checkpoint_files` knows: safetensors,
whole or in shards, in folders of a Trainer, of Pythia, OLMo or FineWeb, or in a hub cache; pickles only on
request. Their learning-rate mass is known if a Trainer logged every rate (`learning_rates`).
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from quantascope.runs.artefact import read_facts
from quantascope.runs.config import LARGEST_FLOAT
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.training.checkpoint_files import Shards, require_complete
from quantascope.training.checkpoint_names import find_checkpoints
from quantascope.training.checkpoint_tensors import RESTORE, difference, load_pickles, load_shards, read_layout
from quantascope.training.digest import tensor_digest
from quantascope.training.learning_rates import logged_mass

Reader = Callable[[Shards], dict[str, Tensor]]
"""Named parameters from the files of one checkpoint."""


def checkpoint_file(folder: Path, step: int) -> Path:
    """The file of a step's checkpoint."""
    return folder / "checkpoints" / f"step-{step:08d}.safetensors"


def own_files(folder: Path) -> list[Path]:
    """The files that may be checkpoints written by a `Recorder`."""
    return sorted(folder.glob("checkpoints/step-*.safetensors"))


def shared_names(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Aliases of tensors that share memory, with the first name of each.

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


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Checkpoints of one run in the order of their steps."""

    steps: Int[np.ndarray, " checkpoints"]
    files: tuple[Shards, ...]
    mass: Float[np.ndarray, " checkpoints"] | None
    reader: Reader = load_shards
    no_mass: str = ""
    """Why the learning-rate mass is unknown, if there is a specific reason."""

    @classmethod
    def open(
        cls,
        folder: Path | str,
        reader: Reader | None = None,
        *,
        branch: str | None = None,
        pickles: bool = False,
        made_by: str | None = None,
    ) -> "Trajectory":
        """The trajectory in a run directory, a folder of checkpoints or a hub cache.

        `made_by` is the config hash that every checkpoint of a run must carry.
        `branch` chooses one of several trainings in one folder, such as "stage1" or "stage2-ingredient2".
        `pickles` also reads .bin, .pt, .pth and .ckpt files, through torch.load with weights_only. Shards are
        checked to be complete here, names and shapes by `check`, whole series by `audit`.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise DamagedArtefact(f"there is no folder {folder}; give a run directory or a folder of checkpoints")
        reader = reader or (load_pickles if pickles else load_shards)
        ours = own_files(folder)
        if made_by is not None or any(read_facts(file, remedy=RESTORE) for file in ours):
            return cls._of_facts(folder, ours, reader, made_by)
        found = find_checkpoints(folder, branch=branch, pickles=pickles)
        if not found:
            raise DamagedArtefact(
                f"{folder} has no checkpoints; record some while training, or name a folder of safetensors files"
            )
        for step, candidates in found.items():
            if len(candidates) > 1:
                names = " and ".join(str(candidate[0]) for candidate in candidates[:2])
                raise DamagedArtefact(
                    f"step {step} is there twice, as {names}; keep one, or give the files with Trajectory.of_files"
                )
            require_complete(candidates[0])
        files = {step: candidates[0] for step, candidates in found.items()}
        mass, why = logged_mass([shards[0].parent for shards in files.values()], list(files))
        return replace(cls.of_files(files, reader), mass=mass, no_mass=why)

    @classmethod
    def of_files(cls, files: Mapping[int, Path | Iterable[Path]], reader: Reader = load_shards) -> "Trajectory":
        """The trajectory of given files, or given shards, by step; `load_pickles` is a reader of pickles."""
        steps = sorted(files)
        shards = [files[step] for step in steps]
        return cls(
            np.array(steps, dtype=np.int64),
            tuple((shard,) if isinstance(shard, Path) else tuple(shard) for shard in shards),
            None,
            reader,
        )

    @classmethod
    def _of_facts(cls, folder: Path, files: list[Path], reader: Reader, made_by: str | None) -> "Trajectory":
        if not files:
            raise DamagedArtefact(f"{folder} has no checkpoints; {RESTORE}")
        about: dict[int, tuple[Path, float]] = {}
        for file in files:
            facts = read_facts(file, remedy=RESTORE)
            step, mass = facts.get("step"), facts.get("mass")
            if not isinstance(step, int) or not isinstance(mass, int | float) or not 0 <= mass <= LARGEST_FLOAT:
                raise DamagedArtefact(
                    f"{file} does not record its step and learning-rate mass; it is not a checkpoint of a Recorder"
                )
            made_by = facts.get("config") if made_by is None else made_by
            if facts.get("config") != made_by:
                raise RunMismatch(f"{file} is a checkpoint of another run; {RESTORE}")
            if step in about:
                raise DamagedArtefact(f"step {step} is there twice, as {about[step][0]} and {file}; keep one")
            if file != checkpoint_file(folder, step):
                raise DamagedArtefact(f"{file} says that it is of step {step}; restore the checkpoint of its name")
            about[step] = file, mass
        steps = sorted(about)
        for before, after in itertools.pairwise(steps):
            if about[after][1] < about[before][1]:
                raise DamagedArtefact(
                    f"the learning rates sum to {about[before][1]:g} up to step {before} and to "
                    f"{about[after][1]:g} up to step {after}: {about[after][0]} is of another run; move it away"
                )
        return cls(
            np.array(steps, dtype=np.int64),
            tuple((about[step][0],) for step in steps),
            np.array([about[step][1] for step in steps]),
            reader,
        )

    def __len__(self) -> int:
        """Number of checkpoints."""
        return len(self.steps)

    def __repr__(self) -> str:
        """Steps without the list of files, which is long."""
        return f"Trajectory({len(self)} checkpoints, steps {self.steps[0]} to {self.steps[-1]})"

    @property
    def learning_rate_mass(self) -> Float[np.ndarray, " intervals"]:
        """Learning rates summed over each interval."""
        if self.mass is None:
            why = f" ({self.no_mass})" if self.no_mass else ""
            raise InvalidConfig(f"these checkpoints do not record their learning rates; use the path rule{why}")
        return np.diff(self.mass)

    def at(self, steps: Iterable[int]) -> "Trajectory":
        """The trajectory at a subset of steps."""
        place = {int(step): index for index, step in enumerate(self.steps)}
        wanted = [int(step) for step in steps]
        for before, after in itertools.pairwise(wanted):
            if after <= before:
                raise InvalidConfig(f"step {after} is asked for after step {before}; give rising steps, each once")
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

    def check(self) -> None:
        """Raise if files are damaged or tensors differ from the first checkpoint, reading headers only.

        This takes milliseconds per file. Call it before any long computation, which would otherwise fail at a bad
        checkpoint after hours.
        """
        first = None
        for shards in self.files:
            require_complete(shards)
            layout = read_layout(shards, pickles=self.reader is load_pickles)
            first = first or layout
            if differs := difference(first, layout):
                raise DamagedArtefact(f"{shards[0]}: {differs}; move this checkpoint away, or restore it")

    def digest(self, index: int) -> str:
        """A hash of the checkpoint's tensors: their names, dtypes, shapes and bytes."""
        return tensor_digest(self.load(index))
