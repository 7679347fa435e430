"""The files of checkpoints under a folder, in the layouts that training programs and the Hugging Face hub leave.

Weights are safetensors files, whole or in shards with an index, or pickles if these are asked for. The folder of a
hub cache is read by its revisions: `refs/step1000` holds the commit whose files are in `snapshots/<commit>`. What
cannot be read as it is (adapters, distributed checkpoints of torch and DeepSpeed, FIFOs) is refused with a remedy.
Only indexes and refs are opened.
"""

import itertools
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quantascope.runs.artefact import read_json
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.runs.files import opened

Shards = tuple[Path, ...]
"""The files of one checkpoint."""

SAFE = ".safetensors"
PICKLED = (".bin", ".pt", ".pth", ".ckpt")
DISTRIBUTED = ".distcp"
INDEX = ".index.json"
SHARD = re.compile(r"[-_.]?(\d+)-of-(\d+)$")
MOST_FILES = 200_000
"""Largest number of files in a folder that is searched for checkpoints."""

_WEIGHTS = (SAFE, *PICKLED, DISTRIBUTED)
_NOT_WEIGHTS = re.compile(
    r"(optim|scheduler|scaler|rng_state|random_states|training_args|sampler|dataloader)", re.I
)
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class WeightFile:
    """A file of weights, with the name that contains its step: its path, or hub revision and path."""

    name: str
    path: Path

    @property
    def stem(self) -> str:
        """The name without its suffix and the number of its shard: the same for all shards of a checkpoint."""
        return SHARD.sub("", self.name.removesuffix(INDEX).rpartition(".")[0])

    @property
    def pickled(self) -> bool:
        """Whether the file is a pickle."""
        return self.name.removesuffix(INDEX).endswith(PICKLED)


def weight_files(folder: Path) -> list[WeightFile]:
    """All files of weights under a folder, including pickles, with the indexes of sharded ones."""
    files = [(prefix, base, _files(base)) for prefix, base in _bases(_model_of_cache(folder))]
    found = [
        WeightFile(f"{prefix}{path.relative_to(base).as_posix()}", path)
        for prefix, base, paths in files
        for path in paths
        if is_weights(path)
    ]
    for file in found:
        if file.path.name.startswith("adapter_model"):
            raise DamagedArtefact(
                f"{file.path} is an adapter, not a checkpoint of the model; merge it into the model "
                "(merge_and_unload) and save that, or give a folder without adapters"
            )
    for _, base, paths in files:
        _refuse_distributed(base, paths, {file.path.parent for file in found})
    return found


def _files(folder: Path) -> list[Path]:
    """Files under a folder that may hold weights; folders that are unreadable or vanish are skipped."""
    found, seen = [], 0
    for place, _, names in os.walk(folder):
        seen += len(names)
        if seen > MOST_FILES:
            raise InvalidConfig(
                f"{folder} holds more than {MOST_FILES:,} files, too many to search for checkpoints; give the "
                "folder that holds the checkpoints"
            )
        found += [Path(place) / name for name in names if name.removesuffix(INDEX).endswith(_WEIGHTS)]
    return sorted(found)


def is_weights(path: Path) -> bool:
    """Whether a file name is of weights or their index, not of other training state."""
    kind = path.name.removesuffix(INDEX).endswith((SAFE, *PICKLED))
    return kind and not _NOT_WEIGHTS.match(path.name) and not path.name.endswith("_model_states.pt")


def shards_of_index(index: Path) -> Shards:
    """The shards that an index names, whether they exist or not."""
    about = read_json(require_regular(index), remedy="restore it, or download it again")
    names = about.get("weight_map") if isinstance(about, dict) else None
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise DamagedArtefact(f"{index} has no weight_map from tensors to files; restore it")
    if outside := [name for name in names.values() if Path(name).name != name]:
        raise DamagedArtefact(f"{index} names '{outside[0]}', which is not a file beside it; restore it")
    return tuple(index.parent / name for name in sorted(set(names.values())))


def require_complete(shards: Shards) -> None:
    """Raise if a checkpoint has a shard that is missing, not in its index, or not a regular file."""
    indexes = [index for index in {_index_of(shard) for shard in shards} if index.exists()]
    named = {shard for index in indexes for shard in shards_of_index(index)}
    for shard in shards:
        if indexes and shard not in named:
            raise DamagedArtefact(
                f"{shard} is not among the shards of {indexes[0].name}; move it away or restore that"
            )
    for shard in sorted({*shards, *named}):
        if not shard.exists() and not shard.is_symlink():
            by = f", which {_index_of(shard).name} names," if shard in named else ""
            raise DamagedArtefact(f"{shard}{by} is missing; restore it, or download it again")
        require_regular(shard)
    if not indexes:
        _refuse_gaps(shards)


def require_regular(file: Path) -> Path:
    """The file; raises if it is a broken link or if opening it could block (a FIFO, a device)."""
    if file.exists() or file.is_symlink():
        with opened(file):
            pass
    return file  # a missing file is reported by its reader


def _index_of(shard: Path) -> Path:
    return shard.with_name(SHARD.sub("", shard.stem) + shard.suffix + INDEX)


def _refuse_gaps(shards: Shards) -> None:
    """Check the number of shards in names such as model-00002-of-00003."""
    numbered: dict[str, tuple[int, set[int], Path]] = {}
    for shard in shards:
        if number := SHARD.search(shard.stem):
            whole = shard.stem[: number.start()]
            numbered.setdefault(whole, (int(number[2]), set(), shard))[1].add(int(number[1]))
    for count, have, shard in numbered.values():
        if len(have) != count:
            absent = next(number for number in itertools.count(1) if number not in have)
            raise DamagedArtefact(
                f"shard {absent} of {count} is missing beside {shard}; restore it, or download it again"
            )


def _model_of_cache(folder: Path) -> Path:
    """The folder, or the folder of the only model in a hub cache."""
    models = sorted(folder.glob("models--*--*"))
    if len(models) > 1:
        names = ", ".join(model.name for model in models)
        raise DamagedArtefact(f"{folder} is a cache of several models ({names}); give the folder of one of them")
    return models[0] if models else folder


def _bases(folder: Path) -> Iterable[tuple[str, Path]]:
    """Folders with files, and what to put before the files' names."""
    refs, snapshots = folder / "refs", folder / "snapshots"
    if not (refs.is_dir() and snapshots.is_dir()):
        yield "", folder / "checkpoints" if (folder / "checkpoints").is_dir() else folder
        return
    for ref in sorted(file for file in refs.rglob("*") if not file.is_dir()):
        commit = require_regular(ref).read_text(errors="replace").strip()
        if not _COMMIT.fullmatch(commit) or not (snapshots / commit).is_dir():
            raise DamagedArtefact(f"{ref} names the snapshot '{commit[:64]}', which is missing; download it again")
        yield f"{ref.relative_to(refs).as_posix()}/", snapshots / commit


def _refuse_distributed(folder: Path, files: Iterable[Path], with_weights: set[Path]) -> None:
    """Raise if there are distributed checkpoints without whole weights beside them."""
    for file in (file for file in files if file.name.endswith(DISTRIBUTED)):
        if not with_weights & {file.parent, file.parent.parent} - {folder}:
            raise DamagedArtefact(
                f"{file.parent} is a distributed checkpoint of torch; convert it with python -m "
                f"torch.distributed.checkpoint.format_utils dcp_to_torch {file.parent} FILE.pt, then read that "
                "with pickles=True or save it as safetensors"
            )
    for file in (file for file in files if file.name.endswith("_model_states.pt")):
        home = file.parent.parent if file.parent.name.startswith("global_step") else file.parent
        if not with_weights & {home} - {folder}:
            raise DamagedArtefact(
                f"{file.parent} is a checkpoint of DeepSpeed; convert it with python zero_to_fp32.py {home} "
                "FOLDER --safe_serialization (the script is beside it)"
            )
