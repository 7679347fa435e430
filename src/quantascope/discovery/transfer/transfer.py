"""Tests whether teaching some events of a set teaches the others.

    sets      -> halves      A and B, at random
    halves    -> weights     A's raised or lowered
    weights   -> curves      the network is trained again from the same start
    curves    -> responses   of B, beside its controls, other sets, and two predictions

The two predictions are the theory's, T ∝ κ/p, and the first-order estimate along the checkpoints.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float

from quantascope.discovery.transfer.kernel import estimated_effects
from quantascope.discovery.transfer.response import Response, Subject, response_matrix
from quantascope.discovery.transfer.weighting import Change, Halves, changed_weights, halves
from quantascope.runs.progress import Progress
from quantascope.sources.retraining import EventCurves, Retrainable, weights_digest

BASE = "unweighted"


@dataclass(frozen=True, eq=False)
class Trial:
    """One set, split into halves, and the change of the weights of one half."""

    method: str
    number: int
    split: int
    change: Change
    cut: Halves

    @property
    def weights(self) -> Float[np.ndarray, " events"]:
        """The weight of every event."""
        return changed_weights(self.cut.taught, self.change)

    @property
    def folder(self) -> str:
        """The name of the trial's run; trials with equal weights share a run."""
        return f"{self.change}-{weights_digest(self.weights)[:12]}"


@dataclass(frozen=True, eq=False)
class Transfer:
    """The trials of one source and their outcomes."""

    subject: Subject
    trials: tuple[Trial, ...]
    curves: tuple[EventCurves, ...]
    estimates: Float[np.ndarray, "trials events"]

    @cached_property
    def responses(self) -> tuple[Response, ...]:
        """The response of every trial."""
        return tuple(
            self.subject.respond(trial.cut, trial.change, curves, estimate)
            for trial, curves, estimate in zip(self.trials, self.curves, self.estimates, strict=True)
        )

    def of(self, method: str, change: Change = "raised") -> list[Response]:
        """The responses of a method's sets to a change."""
        chosen = zip(self.trials, self.responses, strict=True)
        return [found for trial, found in chosen if (trial.method, trial.change) == (method, change)]

    def matrix(self, method: str) -> Float[np.ndarray, "sets sets"]:
        """The response matrix of a method's sets when half of each set is raised, for the first split."""
        own = [
            (trial.cut, self.subject.effects(curves))
            for trial, curves in zip(self.trials, self.curves, strict=True)
            if (trial.method, trial.change, trial.split) == (method, "raised", 0)
        ]
        return response_matrix([cut for cut, _ in own], [effect for _, effect in own])


def run_trials(
    retrainable: Retrainable,
    trials: Sequence[Trial],
    folder: Path,
    *,
    subject_of: Callable[[EventCurves], Subject],
    checkpoints: int = 20,
    progress: Progress | None = None,
) -> Transfer:
    """Train once with even weights and once for every trial, each in its own subfolder of `folder`."""
    steps = retrainable.training.steps
    kept = tuple(np.unique(np.rint(np.linspace(0, steps, checkpoints + 1)).astype(int)).tolist())
    even = np.ones(len(trials[0].cut.members))
    base = retrainable.retrain(even, folder / BASE, checkpoints=kept, progress=progress)
    curves = [
        retrainable.retrain(trial.weights, folder / trial.folder, progress=_later(progress, (place + 1) * steps))
        for place, trial in enumerate(trials)
    ]
    estimates = estimated_effects(
        retrainable.trajectory(folder / BASE),
        retrainable.event_losses,
        retrainable.examples,
        [trial.weights for trial in trials],
    )
    return Transfer(subject_of(base), tuple(trials), tuple(curves), estimates)


def plan(
    method: str,
    sets: Iterable[np.ndarray],
    group: np.ndarray,
    *,
    changes: Sequence[Change] = ("raised",),
    splits: int = 1,
    seed: int = 0,
) -> list[Trial]:
    """The trials of a method's sets: every set, in `splits` random halves, under every change."""
    found = []
    for number, members in enumerate(sets):
        for split in range(splits):
            cut = halves(members, group, np.random.default_rng([seed, split, number]))
            found += [Trial(method, number, split, change, cut) for change in changes]
    return found


def _later(progress: Progress | None, before: int) -> Progress | None:
    if progress is None:
        return None

    def shifted(step: int, loss: float, acquired: int | None = None) -> None:
        progress(before + step, loss, acquired)

    return shifted
