"""Loads saved Hugging Face models: safetensors in a local folder, without remote code or downloads.

For a series of checkpoints, one model is built and the weights of each are read directly from its files
(`read_weights`). transformers loads a checkpoint only if the names in its files differ from the model's.
"""

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from quantascope.models.hugging_face.families import FAMILIES
from quantascope.runs.artefact import read_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, StorageFailed, storage_remedy

_RESTORE = "restore it, or save it again with save_pretrained"


def load_pretrained(
    folder: Path | str, *, dtype: torch.dtype = torch.float32, attention: str = "eager"
) -> nn.Module:
    """The causal language model in a folder, in evaluation mode; attention is `eager` or `sdpa`."""
    folder = Path(folder)
    _config_text(folder)
    return _from_pretrained(folder, attn_implementation=attention).to(dtype).eval()


def save_pretrained(module: nn.Module, folder: Path) -> None:
    """Save a causal language model as transformers does, for `AutoModelForCausalLM.from_pretrained`."""
    try:
        with _without_bars():
            cast(Any, module).save_pretrained(folder)
    except OSError as error:
        raise StorageFailed(
            f"cannot write {folder}: {error.strerror or error}; {storage_remedy(error)}"
        ) from error


def model_of(shards: Sequence[Path]) -> nn.Module:
    """The causal language model of one checkpoint of a series, in evaluation mode and in single precision."""
    values = json.loads(_config_text(shards[0].parent))
    with torch.random.fork_rng(devices=[]):
        module = _from_config(values, attn_implementation="eager").to(torch.float32)
    module.load_state_dict(read_weights(shards))
    return module.eval()


def read_weights(shards: Sequence[Path]) -> dict[str, Tensor]:
    """The weights in the safetensors files of one checkpoint, named as in the model, tied ones under each name."""
    folder = shards[0].parent
    outline = _outline(_config_text(folder))
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        tensors |= read_tensors(shard, made_by=None, remedy=_RESTORE)[0]
    return outline.named(tensors) or _from_pretrained(folder).state_dict()


@dataclass(frozen=True, eq=False)
class _Outline:
    """The tensors that a model has, by name and shape; `tied` ones by the name of the one that they are."""

    shapes: Mapping[str, torch.Size]
    tied: Mapping[str, str]
    body: str
    older: Mapping[str, str]

    def named(self, found: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
        """The tensors as the model names them, or nothing if some are missing or of another shape."""
        known = {self._name(name): tensor for name, tensor in found.items()}
        for one, other in [*self.tied.items(), *((own, name) for name, own in self.tied.items())]:
            if one not in known and other in known:
                known[one] = known[other]
        fits = all(name in known and known[name].shape == shape for name, shape in self.shapes.items())
        return {name: known[name] for name in self.shapes} if fits else None

    def _name(self, name: str) -> str:
        """Yield possible names: a checkpoint may hold only the body, or use older names."""
        renamed = [new + name.removeprefix(old) for old, new in self.older.items() if name.startswith(old)]
        return next((one for one in (name, f"{self.body}.{name}", *renamed) if one in self.shapes), name)


def outlined(file: Path) -> Any:
    """Build the causal language model of a config.json without weights, so that it takes no memory."""
    with torch.device("meta"):
        return _from_config(json.loads(_config_text(file.parent, file.name))).eval()


_OTHER_CODE = ("attn_implementation", "_attn_implementation", "auto_map")
"""Keys of a config.json that make transformers download or run code: kernels of the hub, classes in files."""


@lru_cache(maxsize=8)
def _outline(config_text: str) -> _Outline:
    """The model of a config.json on the meta device, which takes no memory."""
    with torch.device("meta"):
        module = _from_config(json.loads(config_text))
    kind = module.config.model_type
    first: dict[int, str] = {}
    names = {
        name: first.setdefault(id(value), name) for name, value in module.named_parameters(remove_duplicate=False)
    }
    return _Outline(
        shapes={name: value.shape for name, value in module.state_dict().items()},
        tied={name: own for name, own in names.items() if name != own},
        body=module.base_model_prefix,
        older=FAMILIES[kind].older if kind in FAMILIES else {},
    )


def _from_config(values: Mapping[str, Any], **asked: Any) -> Any:
    """The model of a config.json with random weights."""
    transformers = _transformers()
    with _one_line(f"the config.json of model type '{values.get('model_type')}'"):
        known = {key: value for key, value in values.items() if key not in _OTHER_CODE}
        config = transformers.CONFIG_MAPPING[values.get("model_type")].from_dict(known)
        return transformers.AutoModelForCausalLM.from_config(config, **{"attn_implementation": "eager", **asked})


def _config_text(folder: Path, name: str = "config.json") -> str:
    file = folder / name
    if not file.is_file():
        raise DamagedArtefact(
            f"{folder} has no {name}, so it is not a saved model; save checkpoints with save_pretrained, or "
            "open them without read_pretrained"
        )
    with _one_line(str(file)):
        text = file.read_text(encoding="utf-8")
        if not isinstance(json.loads(text), dict):
            raise ValueError("it is not a JSON object")
        return text


def _from_pretrained(folder: Path, **asked: Any) -> nn.Module:
    """Load with transformers; raises for a tensor that it would have to initialize."""
    transformers = _transformers()
    with _without_bars(), _one_line(str(folder)):
        module, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
            **{"attn_implementation": "eager", **asked},
        )
    if missing := sorted(report["missing_keys"]):
        raise DamagedArtefact(f"{folder} lacks {len(missing)} tensors, such as '{missing[0]}'; {_RESTORE}")
    return module


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")  # hidden from type checkers
    except ImportError:
        raise InvalidConfig("transformers is not installed; pip install 'quantascope[transformers]'") from None


@contextmanager
def _without_bars() -> Iterator[None]:
    """Suppress progress bars, of which there would be one for each read of each checkpoint."""
    bars = _transformers().utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


@contextmanager
def _one_line(what: str) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DamagedArtefact(f"{what} holds no causal language model to read ({reason}); {_RESTORE}") from error
