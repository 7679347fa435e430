"""`SourceRun`: a trained network with its quanta, descriptions and Q-models, as far as they exist."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

import torch

from quantascope.discovery.discover import FACTORS, Discovery, read_discovery
from quantascope.explorer.context import Contexts
from quantascope.explorer.shown_run import THERE, Availability, ShownRun, trouble
from quantascope.models.device import CPU
from quantascope.qmodel.recovered.fit import FitPreset, RecoveredRun, qmodel_folder, read_fit
from quantascope.qmodel.recovered.saved import WEIGHTS
from quantascope.runs.artefact import read_table, read_tensors
from quantascope.runs.errors import InvalidConfig, QuantascopeError
from quantascope.runs.run_directory import read_run
from quantascope.semantics.explain import SEMANTICS
from quantascope.sources.open import open_source
from quantascope.sources.source import Source
from quantascope.tasks.task import SymbolTask

PRESETS: tuple[FitPreset, ...] = get_args(FitPreset)
_DESCRIPTION = {
    **dict.fromkeys(("kind", "unit", "description"), "text"),
    **dict.fromkeys(("f1", "low", "high", "constant"), "float?"),
    "tells": "bool?",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceRun(ShownRun):
    """A source at a location; `task` is given for a run that was trained on a task from a file."""

    task: str | None = None
    device: torch.device = CPU
    beside: list["SourceRun"] = field(default_factory=list)
    """The sources that are shown together, including itself."""

    kind: ClassVar[str] = "source"

    @property
    def source(self) -> Source:
        """The source."""
        files = [Path(self.where) / name for name in ("config.json", "metrics.parquet")]
        opened = partial(open_source, self.where, task=self.task, device=self.device)
        return self.kept.get("source", opened, files=files)

    @property
    def folder(self) -> Path:
        """The folder of results."""
        return self.source.folder

    @property
    def has_quanta(self) -> bool:
        """Whether quanta were discovered."""
        return (self.folder / FACTORS).exists()

    @property
    def discovery(self) -> Discovery:
        """The quanta that were found."""
        files = [self.folder / FACTORS, *sorted((self.folder / "priority").glob("*.safetensors"))]
        source = self.source
        return self.kept.get("discovery", lambda: read_discovery(source), files=files, of=source)

    @property
    def presets(self) -> list[FitPreset]:
        """The Q-models that were fitted."""
        return [one for one in PRESETS if (qmodel_folder(self.source, one) / WEIGHTS).exists()]

    def fit(self, preset: str) -> RecoveredRun:
        """A Q-model."""
        chosen = cast(FitPreset, preset)
        folder = qmodel_folder(self.source, chosen)
        files = [self.folder / FACTORS, folder / "config.json", folder / WEIGHTS]
        source = self.source
        return self.kept.get(f"fit {preset}", lambda: read_fit(source, chosen), files=files, of=source)

    def descriptions(self, of: str) -> dict[str, dict[str, Any]]:
        """The descriptions of the factors or of a Q-model's units, by name; empty if there are none."""
        if of == "factors":
            file = self.folder / SEMANTICS
            return self.kept.get("names", lambda: _described(file, self.source.identity, of), files=[file])
        run = self.fit(of)
        file = run.path / SEMANTICS
        return self.kept.get(f"names {of}", lambda: _described(file, run.config.hash(), of), files=[file], of=run)

    @property
    def quantum_descriptions(self) -> dict[str, dict[str, Any]]:
        """Current descriptions of the quanta: of the factors, or else of a Q-model of the same factors."""
        names = self.discovery.names
        for of in ("factors", *(one for one in self.presets if self._is_described(one))):
            try:
                found = self.descriptions(of)
            except QuantascopeError:
                continue  # reported as damaged
            if {name for name, one in found.items() if one["kind"] == "quantum"} == set(names):
                return found
        return {}

    def _is_described(self, preset: FitPreset) -> bool:
        return (qmodel_folder(self.source, preset) / SEMANTICS).is_file()

    @property
    def contexts(self) -> Contexts:
        """The training events in their context."""
        source = self.source
        return self.kept.get("contexts", lambda: Contexts.of(source, "training"), of=source)

    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """The available views, and the damaged files."""
        if damage := trouble(lambda: self.source):
            return dict.fromkeys(("training", "quanta", "trace", "intervene"), Availability(damage)), [damage]
        quanta, damaged = self._quanta()
        traced, more = self._traced()
        views = {"training": THERE, "quanta": quanta, "trace": traced, "intervene": traced}
        return views, [*damaged, *more, *self._damaged_descriptions()]

    def _quanta(self) -> tuple[Availability, list[str]]:
        command = self.command("discover")
        if not self.has_quanta:
            return Availability("Quanta have not been discovered in this run.", command), []
        damage = trouble(lambda: self.discovery)
        return (Availability(damage, command), [damage]) if damage else (THERE, [])

    def _traced(self) -> tuple[Availability, list[str]]:
        if not isinstance(self.source.task, SymbolTask):
            return Availability("The network does not read and write symbols, so it has no Q-model."), []
        if not self.has_quanta:
            return Availability("A Q-model consists of quanta; discover them first.", self.command("discover")), []
        if not self.presets:
            return self._without_qmodel(), []
        damaged = [one for preset in self.presets if (one := trouble(partial(self._check_fit, preset)))]
        if len(damaged) == len(self.presets):
            return Availability(damaged[0], self.command("fit")), damaged
        return THERE, damaged

    def _check_fit(self, preset: FitPreset) -> None:
        """Raise if a Q-model's files are damaged, without building it, which takes seconds."""
        folder = qmodel_folder(self.source, preset)
        read_run(folder)
        read_tensors(folder / WEIGHTS, made_by=None)

    def _without_qmodel(self) -> Availability:
        if self.source.model_at is None:
            return Availability("This source has no model_at, so it cannot have a Q-model.")
        if not self.source.replay_steps:
            return Availability("This run has no checkpoints to replay; train it again with --set replays=200.")
        return Availability("No Q-model has been fitted to this run yet.", self.command("fit"))

    def _damaged_descriptions(self) -> Iterator[str]:
        folders = [self.folder, *(qmodel_folder(self.source, preset) for preset in self.presets)]
        for file in (folder / SEMANTICS for folder in folders):
            if file.is_file() and (
                damage := trouble(partial(read_table, file, made_by=None, columns=_DESCRIPTION))
            ):
                yield damage

    def preset(self, asked: str | None) -> str:
        """The requested Q-model, or the first readable one."""
        if asked:
            return asked
        whole = [one for one in self.presets if trouble(partial(self.fit, one)) is None]
        if not whole:
            raise InvalidConfig(f"there is no Q-model; make it with {self.command('fit')}")
        return whole[0]


def described(table: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Only the texts, by unit."""
    return {unit: one["text"] for unit, one in table.items()}


def _described(file: Path, made_by: str, of: str) -> dict[str, dict[str, Any]]:
    if not file.is_file():
        return {}
    table = read_table(file, made_by=made_by, columns=_DESCRIPTION)
    return {
        row["unit"]: {
            "kind": row["kind"],
            "text": row["description"],
            "f1": row["f1"],
            "low": row["low"],
            "high": row["high"],
            "always_true": row["constant"],
            "tells": row["tells"],
            "of": of,
        }
        for row in table.select(*_DESCRIPTION).to_dicts()
    }
