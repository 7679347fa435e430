"""Reads the tensors of one checkpoint, or only their names, shapes and dtypes.

safetensors files are read directly. Pickles are read only on request, by `torch.load` with `weights_only`, which
builds tensors and plain containers and executes no other code. A Lightning checkpoint keeps its weights under
`state_dict`, behind the name of the attribute that holds the network; that prefix is removed.
"""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import torch
from torch import Tensor

from quantascope.runs.artefact import read_facts, read_tensors
from quantascope.runs.errors import DamagedArtefact
from quantascope.training.checkpoint_files import PICKLED, Shards, require_regular

RESTORE = "restore it, or train into a new folder"
"""Remedy for a damaged checkpoint: a finished run does not write it again."""
Layout = dict[str, tuple[tuple[int, ...], str]]
"""Shape and dtype of each tensor by name."""

_Entry = TypeVar("_Entry")
_HOLDERS = ("state_dict", "model_state_dict", "model")
_WRAPPERS = ("module.", "_orig_mod.")


def load_shards(shards: Shards) -> dict[str, Tensor]:
    """The tensors of one checkpoint in safetensors files."""
    return join([read_shard(shard) for shard in shards], shards)


def load_pickles(shards: Shards) -> dict[str, Tensor]:
    """The tensors of one checkpoint in safetensors files or pickles."""
    return join([read_shard(shard, pickles=True) for shard in shards], shards)


def read_shard(file: Path, *, pickles: bool = False) -> dict[str, Tensor]:
    """The tensors of one file."""
    require_regular(file)
    if file.suffix in PICKLED:
        return _read_pickle(file, pickles=pickles)
    tensors, about = read_tensors(file, made_by=None, remedy=RESTORE)
    return with_tied(file, tensors, about.get("tied", {}))


def with_tied(file: Path, tensors: Mapping[str, _Entry], tied: Any) -> dict[str, _Entry]:
    """Add tied tensors under all of their names."""
    if not isinstance(tied, dict) or not all(isinstance(own, str) and own in tensors for own in tied.values()):
        raise DamagedArtefact(f"{file} names tensors as tied that it does not hold; {RESTORE}")
    return {**tensors, **{name: tensors[own] for name, own in tied.items()}}


def join(parts: list[dict[str, _Entry]], shards: Shards) -> dict[str, _Entry]:
    """The tensors of all shards; raises if two shards hold the same tensor."""
    whole: dict[str, _Entry] = {}
    for part in parts:
        if twice := sorted(whole.keys() & part.keys()):
            names = " and ".join(map(str, shards[:2]))
            raise DamagedArtefact(
                f"{names} both hold '{twice[0]}', so they are not shards of one checkpoint; separate them"
            )
        whole |= part
    return whole


def read_layout(shards: Shards, *, pickles: bool = False) -> Layout:
    """Names, shapes and dtypes of a checkpoint, read from the headers of its files in milliseconds."""
    parts: list[Layout] = []
    for shard in shards:
        if require_regular(shard).suffix in PICKLED:
            parts.append(layout_of(_read_pickle(shard, pickles=pickles)))
            continue
        tied = read_facts(shard, remedy=RESTORE).get("tied", {})  # says if the file is damaged
        with safetensors.safe_open(shard, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            part = {name: (tuple(one.get_shape()), one.get_dtype()) for name, one in slices.items()}
        parts.append(with_tied(shard, part, tied))
    return join(parts, shards)


def layout_of(tensors: Mapping[str, Tensor]) -> Layout:
    """Shape and dtype of each tensor."""
    return {name: (tuple(tensor.shape), str(tensor.dtype)) for name, tensor in sorted(tensors.items())}


def difference(first: Layout, other: Layout) -> str:
    """A description of the first tensor in which two layouts differ; empty if they agree."""
    for name in sorted({*first, *other}):
        if first.get(name) != other.get(name):
            then, now = (_shown(layout.get(name)) for layout in (first, other))
            return f"tensor '{name}' is {now}, at the first step {then}"
    return ""


def _shown(entry: tuple[tuple[int, ...], str] | None) -> str:
    return "missing" if entry is None else f"{entry[1]} {list(entry[0])}"


def _read_pickle(file: Path, *, pickles: bool) -> dict[str, Tensor]:
    if not pickles:
        raise DamagedArtefact(f"{file} is a pickle, which is read only if asked for; give pickles=True")
    found = _load(file)
    lightning = isinstance(found, dict) and "pytorch-lightning_version" in found
    for holder in _HOLDERS:
        if isinstance(found, dict) and isinstance(found.get(holder), Mapping):
            found = found[holder]
            break
    tensors = {name: value for name, value in found.items() if isinstance(value, Tensor)} if _named(found) else {}
    if not tensors:
        raise DamagedArtefact(f"{file} holds no tensors by name; save the model's state_dict")
    return _without_prefix(tensors, strip_attribute=lightning)


def _named(found: Any) -> bool:
    return isinstance(found, Mapping) and all(isinstance(name, str) for name in found)


def _load(file: Path) -> Any:
    options: dict[str, Any] = {"map_location": "cpu", "weights_only": True}
    try:
        try:
            return torch.load(file, mmap=True, **options)
        except RuntimeError:  # files of torch before 1.6 cannot be mapped
            return torch.load(file, **options)
    except FileNotFoundError:
        raise DamagedArtefact(f"{file} is missing; {RESTORE}") from None
    except pickle.UnpicklingError:
        raise DamagedArtefact(
            f"{file} holds more than tensors, or is damaged; load it in the program that wrote it and save its "
            "state_dict as safetensors"
        ) from None
    except (RuntimeError, OSError, EOFError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedArtefact(f"{file} is damaged or foreign ({reason}); {RESTORE}") from None


def _without_prefix(tensors: dict[str, Tensor], *, strip_attribute: bool) -> dict[str, Tensor]:
    """Names without prefixes that wrappers add to all of them (for Lightning, the network's attribute)."""
    first = {name.partition(".")[0] + "." for name in tensors}
    if strip_attribute and len(first) == 1 and all("." in name for name in tensors):
        prefix = first.pop()
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    for wrapper in _WRAPPERS * 2:
        if all(name.startswith(wrapper) for name in tensors):
            tensors = {name.removeprefix(wrapper): tensor for name, tensor in tensors.items()}
    return tensors
