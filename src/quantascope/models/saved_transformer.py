"""A trained Transformer as one file that needs nothing else: weights, shape and vocabulary."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from quantascope.models.saved import load_model, save_model
from quantascope.models.transformer import Transformer, TransformerConfig
from quantascope.runs.config import Config, Positive

KIND = "Transformer"


def save_transformer(path: Path, model: Transformer, vocabulary: tuple[str, ...], *, made_by: str) -> None:
    """Save a Transformer and its vocabulary."""
    about = {
        "vocabulary": list(vocabulary),
        "positions": model.positions,
        "model": model.config.model_dump(mode="json"),
    }
    save_model(path, model, kind=KIND, about=about, made_by=made_by)


def load_transformer(path: Path, *, made_by: str | None = None) -> tuple[Transformer, tuple[str, ...]]:
    """Load a Transformer and its vocabulary."""
    model, about = load_model(path, _build, kind=KIND, make="quantascope guide", made_by=made_by)
    return model, tuple(about["vocabulary"])


class _Description(Config):
    """What of a description the network is built from."""

    model_config = ConfigDict(extra="ignore")

    vocabulary: tuple[str, ...]
    positions: Positive
    model: TransformerConfig


def _build(about: Mapping[str, Any]) -> Transformer:
    found = _Description.parse(about)
    return Transformer(vocabulary=len(found.vocabulary), positions=found.positions, config=found.model, seed=0)
