"""The measurements of a forest's run are read if they are of its steps and tasks, and refused otherwise."""

import numpy as np
import polars as pl
import pytest

from quantascope.acquisition.learner import METRICS, HSPLearner, learn, read_curves
from quantascope.models import MLPConfig
from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.errors import DamagedArtefact
from quantascope.tasks.hsp import FlatFamily
from quantascope.training import TrainingConfig

CONFIG = HSPLearner(
    family=FlatFamily(tasks=4, pool=6, distractors=2),
    model=MLPConfig(width=8),
    training=TrainingConfig(steps=6, evaluate_every=2),
    batch_size=16,
    panel_inputs=16,
)
ROWS = 4


@pytest.fixture
def run(tmp_path):
    learn(CONFIG, tmp_path)
    return tmp_path


def reseal(run, **columns) -> None:
    table = read_table(run / METRICS, made_by=None)
    changed = table.with_columns(*(pl.Series(name, values) for name, values in columns.items()))
    write_table(run / METRICS, changed, made_by=CONFIG.hash())


def test_metrics_that_are_resealed_unchanged_give_the_same_curves(run):
    before = read_curves(run)
    reseal(run)
    after = learn(CONFIG, run)
    assert after.step.tolist() == [0, 2, 4, 6]
    assert np.array_equal(after.coefficient, before.coefficient)


@pytest.mark.parametrize("read", [read_curves, lambda run: learn(CONFIG, run)])
@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("loss", [1.0] * ROWS, r"not float \[tasks = 4\]"),
        ("coefficient", [1.0] * ROWS, r"not float \[tasks = 4\]"),
        ("coefficient", np.zeros((ROWS, 3), np.float32), r"not float \[tasks = 4\]"),
        ("exact", [True] * ROWS, r"not bool \[tasks = 4\]"),
        ("modes", np.zeros((ROWS, 4), np.float32), r"not float \[tasks = 4, levels\]"),
        ("step", [-1] * ROWS, "does not rise to step 6, the last"),
        ("step", [0, 2, 4, 8], "does not rise to step 6, the last"),
        ("step", [0, 4, 2, 6], "does not rise to step 6, the last"),
        ("train_loss", [float("nan")] * ROWS, "not finite"),
        ("train_loss", [1.0, float("inf"), 1.0, 1.0], "not finite"),
        ("train_loss", [{"a": 1.0}] * ROWS, "is Struct.*, not float"),
    ],
)
def test_metrics_of_other_steps_tasks_or_kinds_are_refused_in_one_line(run, read, column, values, says):
    reseal(run, **{column: values})
    with pytest.raises(DamagedArtefact, match=rf"metrics\.parquet: column '{column}'.*{says}.*move it away"):
        read(run)
