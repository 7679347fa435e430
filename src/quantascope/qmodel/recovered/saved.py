"""`QModel`: a recovered Q-model that runs without its source.

qmodel.safetensors   the whole model: weights, the source's embeddings and readout, quanta, channels, vocabulary
qmodel.json          a readable description without weights; it is never loaded
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Float
from pydantic import ConfigDict
from torch import Tensor

from quantascope.models.predictions import decode
from quantascope.models.residual import Interface, InterfaceConfig
from quantascope.models.saved import load_model, save_model
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.runs.artefact import write_json
from quantascope.runs.config import Config, Count, Depth, Positive, Width
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.tasks.events import Events

KIND = "recovered Q-model"
WEIGHTS, ABOUT = "qmodel.safetensors", "qmodel.json"


@dataclass(frozen=True, eq=False)
class QModel:
    """A Q-model with its vocabulary.

    >>> import tempfile
    >>> symbols = ("PAD", "BOS", "SEP", "EOS", "1", "one")
    >>> empty = Interface(vocabulary=6, positions=5, width=4)
    >>> model = RecoveredQModel(layers=(0, 1), blocks=2, interface=empty, config=RecoveredConfig(), seed=0)
    >>> folder = Path(tempfile.mkdtemp())
    >>> QModel(model, symbols).save(folder, made_by="example")
    >>> again = QModel.load(folder)
    >>> again.vocabulary == symbols, len(again.decode(["BOS", "1", "SEP"])) <= 2
    (True, True)
    """

    model: RecoveredQModel
    vocabulary: tuple[str, ...]

    def __post_init__(self) -> None:
        known = self.model.interface.vocabulary
        if len(self.vocabulary) != known:
            raise RunMismatch(
                f"the Q-model reads {known} symbols but the vocabulary has {len(self.vocabulary)}; "
                "load it with its own vocabulary"
            )

    def __call__(self, events: Events) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event."""
        return self.model(events)

    def decode(self, prompt: Sequence[str], *, end: str = "EOS") -> list[str]:
        """The greedy continuation of a prompt, including the end token if it is reached."""
        if isinstance(prompt, str):
            raise InvalidConfig(f"'{prompt}' is a string; give a list of symbols, as in {['BOS', *prompt, 'SEP']}")
        unknown = [symbol for symbol in (*prompt, end) if symbol not in self.vocabulary]
        if unknown:
            raise InvalidConfig(
                f"'{unknown[0]}' is not in the Q-model's vocabulary; it knows {', '.join(self.vocabulary)}"
            )
        positions = self.model.interface.positions
        if not 1 <= len(prompt) < positions:
            raise InvalidConfig(
                f"a prompt of {len(prompt)} symbols leaves no answer in the Q-model's {positions} positions; "
                f"give 1 to {positions - 1} symbols"
            )
        room = positions - len(prompt)
        tokens = [self.vocabulary.index(symbol) for symbol in prompt]
        padding = self.vocabulary.index("PAD") if "PAD" in self.vocabulary else None
        (output,) = decode(self.model, [tokens], end=self.vocabulary.index(end), limit=room, padding=padding)
        return [self.vocabulary[token] for token in output]

    def save(self, folder: Path, *, made_by: str) -> None:
        """Save the Q-model and its readable description."""
        about = _described(self.model, self.vocabulary)
        write_json(folder / ABOUT, {"kind": KIND, "made_by": made_by, **about})
        save_model(folder / WEIGHTS, self.model, kind=KIND, about=about, made_by=made_by)

    @classmethod
    def load(
        cls, folder: Path | str, *, vocabulary: tuple[str, ...] | None = None, made_by: str | None = None
    ) -> "QModel":
        """Load a Q-model; raises if its vocabulary or config differs from the given one."""
        file = Path(folder) / WEIGHTS
        if not file.exists():
            raise DamagedArtefact(f"{folder} holds no Q-model; make one with quantascope fit RUN")
        model, about = load_model(file, _build, kind=KIND, make="quantascope fit", made_by=made_by)
        symbols = tuple(about["vocabulary"])
        if vocabulary is not None and symbols != vocabulary:
            raise RunMismatch(
                f"the Q-model in {folder} has another vocabulary of {len(symbols)} symbols, not the "
                f"expected {len(vocabulary)}; use the Q-model of this task"
            )
        return cls(model, symbols)


def _described(model: RecoveredQModel, vocabulary: tuple[str, ...]) -> dict[str, Any]:
    return {
        "quanta": list(model.names),
        "layers": list(model.layers),
        "blocks": model.blocks,
        "width": model.interface.width,
        "positions": model.interface.positions,
        "interface": model.interface.config.model_dump(mode="json"),
        "parameters": model.parameter_count,
        "writers": model.writers,
        "channels": [[model.names[edge.parent], model.names[edge.child]] for edge in model.channels.edges],
        "model": model.config.model_dump(mode="json"),
        "vocabulary": list(vocabulary),
    }


class _Description(Config):
    """What of a description the network is built from."""

    model_config = ConfigDict(extra="ignore")

    vocabulary: tuple[str, ...]
    positions: Positive
    width: Width
    interface: InterfaceConfig
    layers: tuple[Count, ...]
    blocks: Depth
    model: RecoveredConfig


def _build(about: Mapping[str, Any]) -> RecoveredQModel:
    found = _Description.parse(about)
    interface = Interface(
        vocabulary=len(found.vocabulary), positions=found.positions, width=found.width, config=found.interface
    )
    return RecoveredQModel(
        layers=found.layers, blocks=found.blocks, interface=interface, config=found.model, seed=0
    )
