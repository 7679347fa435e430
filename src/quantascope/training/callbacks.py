"""Recorders for the training loops of other libraries: `transformers.Trainer` and Lightning.

    trainer = transformers.Trainer(..., callbacks=[RecorderCallback("run", steps=100)])
    trainer = lightning.Trainer(..., callbacks=[LightningRecorder("run", steps=100)])

Both keep checkpoints at the asked steps, step 0 included, with the learning rates summed over the updates made, so
that both rules of priority apply; the rate of an update is that of the optimizer's first group just before it. A
resumed training continues in the same folder and overwrites the checkpoints of repeated updates.

transformers and Lightning are imported when these classes are first used. Sharded weights (FSDP, DeepSpeed) are
not supported.
"""

import functools
import importlib
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, SupportsIndex

from torch import nn

from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.errors import InvalidConfig
from quantascope.training.checkpoint_tensors import RESTORE
from quantascope.training.recorder import Recorder, refuse_another_model
from quantascope.training.trajectory import checkpoint_file, own_files

_MASSES = "recorder.json"


class _Recording:
    """A recorder that is opened when training begins and receives the learning rate of each update."""

    def __init__(self, folder: Path | str, *, steps: SupportsIndex | Collection[SupportsIndex] = 100) -> None:
        super().__init__()
        self.folder, self.steps = Path(folder), steps
        self.recorder: Recorder | None = None
        self._rate = 0.0

    def _begin(self, model: nn.Module, at: int, mass: float | None) -> None:
        if mass is None and self.recorder is not None and self.recorder.at == at:
            mass = self.recorder.mass  # a second fit with the same callback
        if at and mass is not None:
            # Training resumes from this saved step, so later checkpoints are made again.
            if (kept := checkpoint_file(self.folder, at)).exists():
                refuse_another_model(model, kept)
            for file in own_files(self.folder):
                if file.stem[5:].isdecimal() and int(file.stem[5:]) > at:
                    file.unlink()
        self.recorder = Recorder(model, self.folder, steps=self.steps, at=at, mass=mass)

    def _note_rate(self, optimizer: Any) -> None:
        rates = {float(group["lr"]) for group in optimizer.param_groups}
        if len(rates) > 1:
            warnings.warn(
                f"the optimizer's groups have different learning rates ({', '.join(map(str, sorted(rates)))}); "
                "the first group's is kept, so use the path rule",
                stacklevel=2,
            )
        self._rate = float(optimizer.param_groups[0]["lr"])


class _TrainerHooks(_Recording):
    """Saves checkpoints of a `transformers.Trainer` run in a folder, at the given steps or every n steps.

    The model's config and the tokenizer are saved as well, so that `quantascope discover FOLDER --data FILE`
    works.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any, **others: Any) -> None:
        if state.is_world_process_zero:
            self._begin(model, state.global_step, self._masses().get(str(state.global_step)))
            about: list[Any] = [getattr(model, "config", None), others.get("processing_class")]
            for one in about:
                if hasattr(one, "save_pretrained"):
                    one.save_pretrained(checkpoint_file(self.folder, 0).parent)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, *, optimizer: Any, **others: Any) -> None:
        self._note_rate(optimizer)

    def on_step_end(self, args: Any, state: Any, control: Any, *, optimizer: Any, **others: Any) -> None:
        if self.recorder is not None:
            skipped = getattr(optimizer, "step_was_skipped", False)  # mixed precision had an overflow
            self.recorder.step(0.0 if skipped else self._rate)

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Save the summed rates, since the Trainer can be resumed from here."""
        if self.recorder is not None:
            masses = self._masses() | {str(self.recorder.at): self.recorder.mass}
            write_record(self.folder / _MASSES, masses, made_by="")

    def _masses(self) -> dict[str, float]:
        """The learning rates summed up to each step at which the Trainer saved."""
        file = self.folder / _MASSES
        if not file.exists():
            return {}
        kept = read_record(file, made_by=None, remedy=RESTORE)
        return {step: mass for step, mass in kept.items() if isinstance(mass, float)}


class _LightningHooks(_Recording):
    """Saves checkpoints of a Lightning run in a folder, at the given steps or every n steps.

    `network` names the attribute of the LightningModule to keep; without it the whole module is kept.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        steps: SupportsIndex | Collection[SupportsIndex] = 100,
        network: str = "",
    ) -> None:
        super().__init__(folder, steps=steps)
        self.network = network
        self._saved: dict[str, Any] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if len(trainer.optimizers) != 1:
            raise InvalidConfig(
                f"the training has {len(trainer.optimizers)} optimizers, whose learning rates make no one sum; "
                "use a Recorder for each network"
            )
        if trainer.is_global_zero:
            mass = self._saved.get("mass") if self._saved.get("step") == trainer.global_step else None
            self._begin(pl_module.get_submodule(self.network), trainer.global_step, mass)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any, *others: Any) -> None:
        self._note_rate(optimizer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *others: Any, **more: Any) -> None:
        """Record a batch that ends with an update; with accumulated gradients, not every batch does."""
        if self.recorder is not None and trainer.global_step > self.recorder.at:
            self.recorder.step(self._rate)

    def state_dict(self) -> dict[str, Any]:
        """The state that Lightning saves in its checkpoints, to resume from."""
        return {} if self.recorder is None else {"step": self.recorder.at, "mass": self.recorder.mass}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._saved = state_dict


def __getattr__(name: str) -> Any:
    if name == "RecorderCallback":
        return _trainer_class()
    if name == "LightningRecorder":
        return _lightning_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _trainer_class() -> type[_TrainerHooks]:
    base = _imported(["transformers"], "TrainerCallback", "pip install 'quantascope[transformers]'")
    return type("RecorderCallback", (_TrainerHooks, base), {"__doc__": _TrainerHooks.__doc__})


@functools.cache
def _lightning_class() -> type[_LightningHooks]:
    base = _imported(["lightning.pytorch", "pytorch_lightning"], "Callback", "pip install lightning")
    return type("LightningRecorder", (_LightningHooks, base), {"__doc__": _LightningHooks.__doc__})


def _imported(modules: list[str], name: str, remedy: str) -> Any:
    """A class from the first installed module of several."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except ImportError:
            continue
    raise InvalidConfig(f"{modules[0].partition('.')[0]} is not installed; {remedy}")
