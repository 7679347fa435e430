"""Accuracies of a trained network by name, as saved in a run, and the step of its best checkpoint, if any."""

from collections.abc import Mapping
from math import inf
from pathlib import Path

from quantascope.runs.artefact import read_record, write_record
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.files import RUN_AGAIN

BEST_STEP = "best_step"
"""The name of the one number that is a step."""


def write_accuracy(path: Path, accuracy: Mapping[str, float], *, made_by: str) -> None:
    """Save accuracies by name."""
    write_record(path, accuracy, made_by=made_by)


def read_accuracy(path: Path, *, made_by: str) -> dict[str, float]:
    """Load the accuracies of a run; raises if they belong to another run."""
    found = {name: value for name, value in read_record(path, made_by=made_by).items() if name != "hash"}
    for name, value in found.items():
        most, what = (inf, "a step") if name == BEST_STEP else (1, "a share from 0 to 1")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise DamagedArtefact(f"{path}: '{name}' is not {what}; {RUN_AGAIN}")
    return found
