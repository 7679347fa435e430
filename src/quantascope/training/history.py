"""`History`: everything that was measured while training, stacked over evaluations."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float, Int, Num

from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.files import RUN_AGAIN


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
    def load(
        cls,
        path: Path,
        *,
        made_by: str,
        steps: int,
        values: Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        may_diverge: bool = False,
    ) -> "History":
        """The history of a finished run of so many steps.

        `values` are the quantities that it must hold, in the form of `runs.structure`; `sizes` are known axes.
        Only a run that `may_diverge` has a training loss that is nowhere a number.
        """
        columns = {"step": "int", "train_loss": "float", **(values or {})}
        table = read_table(path, made_by=made_by, columns=columns, sizes=sizes)
        found = {name: table[name].to_numpy() for name in table.columns}
        if wrong := [name for name, column in found.items() if column.dtype.kind not in "fiub"]:
            raise DamagedArtefact(f"{path}: column '{wrong[0]}' holds no numbers; {RUN_AGAIN}")
        step, loss = found["step"], found["train_loss"]
        if not len(step) or step[0] < 0 or (np.diff(step) <= 0).any() or step[-1] != steps:
            raise DamagedArtefact(f"{path}: column 'step' does not rise to step {steps}, the last; {RUN_AGAIN}")
        if not (np.isfinite(loss[1:]).all() or (may_diverge and np.isnan(loss).all())):
            raise DamagedArtefact(f"{path}: column 'train_loss' has values that are not finite; {RUN_AGAIN}")
        return cls.from_table(table)
