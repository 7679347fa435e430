"""Accuracies of a trained network by name, as saved in a run."""

from collections.abc import Mapping
from pathlib import Path

from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.files import RUN_AGAIN


def write_accuracy(path: Path, accuracy: Mapping[str, float], *, made_by: str) -> None:
    """Save accuracies by name."""
    write_record(path, accuracy, made_by=made_by)


def read_accuracy(path: Path, *, made_by: str) -> dict[str, float]:
    """Load the accuracies of a run; raises if they belong to another run."""
    found = {name: value for name, value in read_record(path, made_by=made_by).items() if name != "hash"}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise DamagedArtefact(f"{path}: '{name}' is not a share from 0 to 1; {RUN_AGAIN}")
    return found
