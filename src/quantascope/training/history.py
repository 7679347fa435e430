"""`History`: everything that was measured while training, stacked over evaluations."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from jaxtyping import Float, Int, Num


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
