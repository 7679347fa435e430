"""`History`: everything that was measured while training, stacked over evaluations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float, Int, Num

from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.errors import DamagedArtefact


@dataclass(frozen=True, eq=False)
class History:
    """Evaluated quantities by name, their first axis the evaluations.

    `train_loss` is the mean loss of the updates since the evaluation before; NaN at the first.
    """

    step: Int[np.ndarray, " evaluations"]
    train_loss: Float[np.ndarray, " evaluations"]
    values: Mapping[str, Num[np.ndarray, "evaluations ..."]]

    def to_table(self) -> pl.DataFrame:
        """One row per evaluation."""
        return pl.DataFrame({"step": self.step, "train_loss": self.train_loss, **self.values})

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> "History":
        """The history of a table that `to_table` made."""
        columns = {name: table[name].to_numpy() for name in table.columns}
        return cls(columns.pop("step"), columns.pop("train_loss"), columns)

    def save(self, path: Path, *, made_by: str) -> None:
        """Keep it as a table."""
        write_table(path, self.to_table(), made_by=made_by)

    @classmethod
    def load(cls, path: Path, *, made_by: str, values: Iterable[str] = ()) -> "History":
        """The history that a run kept, which must hold these values."""
        table = read_table(path, made_by=made_by, columns=("step", "train_loss", *values))
        found = {name: table[name].to_numpy() for name in table.columns}
        kinds = {name: "i" if name == "step" else "fiub" for name in found}
        wrong = [name for name, column in found.items() if column.dtype.kind not in kinds[name]]
        if wrong:
            raise DamagedArtefact(f"{path}: column '{wrong[0]}' holds no numbers; move it away and run again")
        return cls.from_table(table)
