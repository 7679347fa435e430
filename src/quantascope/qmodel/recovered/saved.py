"""`QModel`: a recovered Q-model that runs without its source, from two small files.

qmodel.safetensors   weights, with the embeddings and readout of the source
qmodel.json          shape, quanta, channels and vocabulary, for people and for loading
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from quantascope.models.predictions import decode
from quantascope.models.residual import Interface, InterfaceConfig
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.runs.artefact import read_json, read_tensors, write_json, write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.tasks.events import Events

KIND = "recovered Q-model"
WEIGHTS, ABOUT = "qmodel.safetensors", "qmodel.json"
_AGAIN = "remove it, and quantascope fit makes it again"


@dataclass(frozen=True, eq=False)
class QModel:
    """A Q-model with the symbols that it speaks.

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
                f"the Q-model reads {known} symbols and the vocabulary has {len(self.vocabulary)}; "
                "load it with its own vocabulary"
            )

    def __call__(self, events: Events) -> Float[Tensor, "events vocabulary"]:
        """Logits of every event."""
        return self.model(events)

    def decode(self, prompt: Sequence[str], *, end: str = "EOS") -> list[str]:
        """The greedy continuation of a prompt, with its end where it comes to one."""
        if isinstance(prompt, str):
            raise InvalidConfig(f"'{prompt}' is a text; give its symbols, as in {['BOS', *prompt, 'SEP']}")
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
        """Write both files; the description comes last and makes them whole."""
        model = self.model
        write_tensors(folder / WEIGHTS, model.state_dict(), made_by=made_by, kind=KIND)
        write_json(
            folder / ABOUT,
            {
                "kind": KIND,
                "made_by": made_by,
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
                "vocabulary": list(self.vocabulary),
            },
        )

    @classmethod
    def load(cls, folder: Path | str, *, vocabulary: tuple[str, ...] | None = None) -> "QModel":
        """Read a Q-model, of a given vocabulary if one is given."""
        folder = Path(folder)
        if not (folder / ABOUT).is_file():
            raise DamagedArtefact(f"{folder} holds no Q-model; make one with quantascope fit RUN")
        about = read_json(folder / ABOUT)
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise DamagedArtefact(f"{folder / ABOUT} does not describe a recovered Q-model; {_AGAIN}")
        try:
            made_by, symbols = about["made_by"], tuple(about["vocabulary"])
            model = RecoveredQModel(
                layers=tuple(about["layers"]),
                blocks=about["blocks"],
                interface=Interface(
                    vocabulary=len(symbols),
                    positions=about["positions"],
                    width=about["width"],
                    config=InterfaceConfig.parse(about.get("interface", {})),
                ),
                config=RecoveredConfig.parse(about["model"]),
                seed=0,
            )
        except (KeyError, TypeError, ValueError, RuntimeError, InvalidConfig) as error:
            raise DamagedArtefact(
                f"{folder / ABOUT} does not describe a recovered Q-model ({error!r}); {_AGAIN}"
            ) from error
        if vocabulary is not None and symbols != vocabulary:
            raise RunMismatch(
                f"the Q-model in {folder} speaks another vocabulary of {len(symbols)} symbols, not "
                f"the {len(vocabulary)} asked for; use the Q-model of this task"
            )
        tensors, _ = read_tensors(folder / WEIGHTS, made_by=made_by)
        try:
            model.load_state_dict(tensors)
        except RuntimeError as error:
            reason = str(error).splitlines()[-1].strip()
            raise DamagedArtefact(f"{folder / WEIGHTS} does not fit {ABOUT} ({reason}); {_AGAIN}") from error
        return cls(model.eval(), symbols)
