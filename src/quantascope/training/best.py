"""The parameters at the best evaluation of a training.

A choice by an evaluation set makes its accuracy optimistic. The paper's authors choose so; it is here to compare
with their figures, and no default.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from quantascope.runs.accuracy import BEST_STEP
from quantascope.runs.artefact import read_facts, read_tensors, write_tensors
from quantascope.runs.run_directory import RunDirectory
from quantascope.training.history import History

BEST = "best.safetensors"


class BestCheckpoint:
    """An evaluation for `train` that keeps the best parameters in a file of the run, also if it is resumed.

    Scores are compared in their order, the second where the first are equal. Of equal evaluations the first is
    kept.
    """

    def __init__(self, run: RunDirectory, measure: Callable[[Any], Mapping[str, float]]) -> None:
        self._run, self._measure = run, measure
        self._best = tuple(read_facts(self._file)["scores"]) if self._file.exists() else None

    def __call__(self, model: nn.Module) -> dict[str, np.ndarray]:
        """The scores of a model, which is kept if they are the best so far."""
        found = self._measure(model)
        scores = tuple(float(score) for score in found.values())
        if self._best is None or scores > self._best:
            write_tensors(self._file, model.state_dict(), made_by=self._run.hash, scores=list(scores))
            self._best = scores
        return {name: np.array(score) for name, score in zip(found, scores, strict=True)}

    def restore(self, model: nn.Module) -> None:
        """Give a model the best parameters."""
        tensors, _ = read_tensors(self._file, made_by=self._run.hash)
        model.load_state_dict(tensors)

    @property
    def _file(self) -> Path:
        return self._run.path / BEST


def best_step(history: History, scores: Sequence[str]) -> int:
    """The step of the best evaluation, compared as by `BestCheckpoint`.

    >>> exact, tokens = np.array([0.1, 0.9, 0.9, 0.9]), np.array([0.5, 0.6, 0.7, 0.7])
    >>> best_step(History(np.arange(4) * 20, np.zeros(4), {"exact": exact, "tokens": tokens}), ("exact", "tokens"))
    40
    """
    rows = list(zip(*(history.values[name].tolist() for name in scores), strict=True))
    return int(history.step[rows.index(max(rows))])


def chosen_checkpoint(history: History, scores: Sequence[str], last: Mapping[str, float]) -> dict[str, float]:
    """What a run records of its choice: the step of the best checkpoint, and the accuracies of the last one."""
    return {f"{name}_last": value for name, value in last.items()} | {BEST_STEP: best_step(history, scores)}
