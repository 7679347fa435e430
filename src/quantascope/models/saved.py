"""A trained Transformer as one file that needs nothing else: weights, shape and vocabulary."""

from pathlib import Path
from typing import Any

from quantascope.models.transformer import Transformer, TransformerConfig
from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact

KIND = "transformer"


def save_transformer(path: Path, model: Transformer, vocabulary: tuple[str, ...], *, made_by: str) -> None:
    """Write a Transformer and the symbols that it speaks."""
    about: dict[str, Any] = {
        "kind": KIND,
        "vocabulary": list(vocabulary),
        "positions": model.positions,
        "model": model.config.model_dump(mode="json"),
    }
    write_tensors(path, model.state_dict(), made_by=made_by, **about)


def load_transformer(path: Path) -> tuple[Transformer, tuple[str, ...]]:
    """A Transformer and its vocabulary."""
    tensors, about = read_tensors(path, made_by=None)
    if about.get("kind") != KIND:
        raise DamagedArtefact(f"{path} holds no Transformer; give a file that quantascope guide or train wrote")
    vocabulary = tuple(about["vocabulary"])
    model = Transformer(
        vocabulary=len(vocabulary),
        positions=about["positions"],
        config=TransformerConfig.parse(about["model"]),
        seed=0,
    )
    model.load_state_dict(tensors)
    return model.eval(), vocabulary
