"""The measurements on a run's networks during training."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.acquisition.learner_config import Learner
from quantascope.acquisition.times import THRESHOLD, AcquisitionTimes, acquisition_times
from quantascope.tasks.hsp import Forest
from quantascope.training import History


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Curves of one network, or of a cohort: then the second axis of each array is the networks."""

    config: Learner
    history: History

    @property
    def forest(self) -> Forest:
        """The forest that was learned."""
        return self.config.forest

    @property
    def step(self) -> Int[np.ndarray, " evaluations"]:
        """Updates taken before each evaluation."""
        return self.history.step

    @property
    def task_loss(self) -> Float[np.ndarray, "evaluations *networks tasks"]:
        """Held-out loss of each task in bits."""
        return self.history.values["loss"]

    @cached_property
    def loss(self) -> Float[np.ndarray, "evaluations *networks"]:
        """Held-out loss weighted by query probability, in bits."""
        return self.task_loss.astype(float) @ self.forest.task_probability

    @property
    def coefficient(self) -> Float[np.ndarray, "evaluations *networks tasks"]:
        """Functional coefficients."""
        return self.history.values["coefficient"]

    @cached_property
    def acquired(self) -> Bool[np.ndarray, "evaluations *networks tasks"]:
        """Which tasks have a functional coefficient of at least 0.8."""
        return self.coefficient >= THRESHOLD

    @cached_property
    def soft_count(self) -> Float[np.ndarray, "evaluations *networks"]:
        """Functional coefficients summed over tasks, each between zero and one."""
        return np.clip(self.coefficient.astype(float), 0, 1).sum(-1)

    @cached_property
    def parameters(self) -> Int[np.ndarray, " networks"]:
        """Trainable parameters of each network, task conditioning included."""
        return np.array([network.parameter_count for network in self.config.build().networks()])

    @property
    def diverged(self) -> Bool[np.ndarray, " *networks"]:
        """Networks whose loss was not finite at some evaluation."""
        return np.asarray(~np.isfinite(self.loss).all(0))

    @cached_property
    def times(self) -> AcquisitionTimes:
        """When one network acquired each task."""
        return acquisition_times(self.step, self.coefficient)

    def summary(self) -> dict[str, int | float]:
        """The outcome of one network in four numbers."""
        return {
            "steps": self.config.training.steps,
            "tasks": len(self.forest.tasks),
            "acquired": int(self.times.acquired.sum()),
            "loss_bits": float(self.loss[-1]),
        }
